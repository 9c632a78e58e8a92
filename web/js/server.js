// Asks the pack's routes, and turns whatever goes wrong into an Error with one sentence for the user.
import { api } from "../../../scripts/api.js";
import { loadWords, say } from "./words.js";

/**
 * @param {string} route  Below /mizuoto, with its slash: "/runtime".
 * @param {"GET" | "POST" | "PUT" | "DELETE"} [method]
 * @param {unknown} [body]  Sent as JSON.
 * @returns {Promise<any>} What the route answers.
 */
export async function ask(route, method = "GET", body = undefined) {
  await loadWords();
  /** @type {Record<string, string>} */
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  /** @type {Response} */
  let response;
  try {
    response = await api.fetchApi(`/mizuoto${route}`, { method, headers, body: JSON.stringify(body) });
  } catch {
    throw new Error(say("server.gone"));
  }
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  const isOurs = typeof answer?.error === "string";
  const isUnknown = response.status === 404 || response.status === 405;
  throw new Error(isOurs ? answer.error : say(isUnknown ? "server.old" : "server.failed", { status: response.status }));
}
