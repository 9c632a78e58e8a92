// One player for each node of a kind, made when there is something to play.
import { addBox } from "./box.js";
import { Player } from "./player.js";

/** @typedef {import("./nodes.js").LGraphNode} LGraphNode */

/**
 * @param {{height: number, width?: number}} room  The least that it takes in a node.
 * @param {(player: Player) => void} [equip]  Called with every new one.
 * @returns {(node: LGraphNode) => Player}  Gives a node's player, which is empty.
 */
export function nodePlayers(room, equip) {
  /** @type {WeakMap<LGraphNode, Player>} */
  const players = new WeakMap();
  return (node) => {
    let player = players.get(node);
    if (!player) {
      const made = (player = new Player());
      equip?.(made);
      addBox(node, made.element, { ...room, grows: true, onRemoved: () => made.unload() });
      players.set(node, made);
    }
    player.clear();
    return player;
  };
}
