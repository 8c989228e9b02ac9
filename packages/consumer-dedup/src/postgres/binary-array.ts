const BYTEA_OID = 17;
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

/**
 * A `bytea[]` as PostgreSQL sends and receives it in its binary format. `pg` sends arrays as text, in which each byte is two digits that both
 * sides have to work through; a `Buffer` it sends as it is. `null` for anything but an array with bytes and nulls in it.
 */
export function binaryByteaArray(values: unknown): Buffer | null {
  if (!Array.isArray(values)) return null;
  let size = HEADER_BYTES;
  let hasNull = 0;
  let hasBytes = false;
  for (const value of values as readonly unknown[]) {
    size += 4;
    if (value === null) hasNull = 1;
    else if (Buffer.isBuffer(value)) {
      hasBytes = true;
      size += value.length;
    } else return null;
  }
  if (!hasBytes) return null;
  const array = Buffer.allocUnsafe(size);
  // One dimension, which begins at 1.
  let at = array.writeInt32BE(1, 0);
  at = array.writeInt32BE(hasNull, at);
  at = array.writeInt32BE(BYTEA_OID, at);
  at = array.writeInt32BE(values.length, at);
  at = array.writeInt32BE(1, at);
  for (const value of values as readonly (Buffer | null)[]) {
    at = array.writeInt32BE(value?.length ?? NULL_LENGTH, at);
    if (value !== null) at += value.copy(array, at);
  }
  return array;
}
