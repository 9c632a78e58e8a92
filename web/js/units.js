// Figures as a person reads them.

const GB = 1e9;
export const MB = 1e6;

/** @param {number} count */
export function bytes(count) {
  return count >= GB ? `${(count / GB).toFixed(1)} GB` : `${(count / MB).toFixed(count >= 10 * MB ? 0 : 1)} MB`;
}
