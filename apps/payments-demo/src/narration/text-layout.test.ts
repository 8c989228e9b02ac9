import { describe, expect, it } from 'vitest';
import { tableLines, wrap } from './text-layout.ts';

describe('text', () => {
  it('breaks at spaces, and never inside a word', () => {
    expect(wrap('one two  three\nunbreakable four', 9)).toEqual(['one two', 'three', 'unbreakable', 'four']);
    expect(wrap('', 9)).toEqual([]);
  });
});

describe('tables', () => {
  it('columns are as wide as their widest cell, and numbers stand to the right', () => {
    expect(
      tableLines({
        columns: ['offsets', 'n'],
        rows: [
          ['900–903', 4],
          ['7', 12_000],
        ],
      }),
    ).toEqual(['offsets       n', '900–903       4', '7        12,000']);
  });

  it('an empty table is its heading', () => {
    expect(tableLines({ columns: ['a', 'b'], rows: [] })).toEqual(['a  b']);
  });
});
