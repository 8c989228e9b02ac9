/** Types by the number that PostgreSQL knows them by. */
const OIDS = { bytea: 17, int8: 20, int4: 23, text: 25 } as const;
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

/** An array that a statement takes as one parameter. */
export class ArrayParameter {
  readonly values: readonly (Buffer | string | number | bigint | null)[];
  readonly #type: keyof typeof OIDS;

  private constructor(type: keyof typeof OIDS, values: ArrayParameter['values']) {
    this.#type = type;
    this.values = values;
  }

  static bytea(values: readonly (Buffer | null)[]): ArrayParameter {
    return new ArrayParameter('bytea', values);
  }

  static text(values: readonly (string | null)[]): ArrayParameter {
    return new ArrayParameter('text', values);
  }

  static int4(values: readonly (number | null)[]): ArrayParameter {
    return new ArrayParameter('int4', values);
  }

  static int8(values: readonly (bigint | null)[]): ArrayParameter {
    return new ArrayParameter('int8', values);
  }

  /**
   * As PostgreSQL sends and receives it in its binary format. `pg` sends arrays as text, which both sides have to work through; a `Buffer`
   * it sends as it is. `null` when a value does not fit its type: sent as text, the server says what is wrong with it.
   */
  binary(): Buffer | null {
    const values = this.#type === 'text' ? bytesOfAll(this.values) : this.values;
    let size = HEADER_BYTES;
    let hasNull = 0;
    for (const value of values) {
      if (value === null) hasNull = 1;
      else if (Buffer.isBuffer(value)) size += value.length;
      else if (isInt8(value)) size += 8;
      else if (isInt4(value)) size += 4;
      else return null;
      size += 4;
    }
    const array = Buffer.allocUnsafe(size);
    // One dimension, which begins at 1.
    let at = array.writeInt32BE(1, 0);
    at = array.writeInt32BE(hasNull, at);
    at = array.writeInt32BE(OIDS[this.#type], at);
    at = array.writeInt32BE(values.length, at);
    at = array.writeInt32BE(1, at);
    for (const value of values) {
      if (value === null) at = array.writeInt32BE(NULL_LENGTH, at);
      else if (Buffer.isBuffer(value)) {
        at = array.writeInt32BE(value.length, at);
        at += value.copy(array, at);
      } else if (typeof value === 'bigint') at = array.writeBigInt64BE(value, array.writeInt32BE(8, at));
      else at = array.writeInt32BE(value as number, array.writeInt32BE(4, at));
    }
    return array;
  }
}

/** Topics mostly repeat the one before: then so do their bytes. */
function bytesOfAll(values: ArrayParameter['values']): (Buffer | null)[] {
  let last: ArrayParameter['values'][number] = null;
  let bytes: Buffer | null = null;
  return values.map((value) => {
    if (value !== last) bytes = value === null ? null : Buffer.from(String(value));
    last = value;
    return bytes;
  });
}

function isInt4(value: unknown): boolean {
  return typeof value === 'number' && value === (value | 0);
}

function isInt8(value: unknown): boolean {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}
