import { describe, expect, it } from 'vitest';
import { audit, type SentPayment, type StoredPayment } from './audit.ts';

const acknowledged = (paymentId: string, offset: number, partition = 0): SentPayment => ({
  paymentId,
  outcome: 'acknowledged',
  partition,
  offset: BigInt(offset),
});
const stored = (paymentId: string, offset: number, partition = 0): StoredPayment => ({
  paymentId,
  partition,
  offset: BigInt(offset),
});

describe('the audit', () => {
  it('finds nothing when each acknowledged payment is stored once, in order, where the producer said', () => {
    const result = audit(
      [acknowledged('a', 0), acknowledged('b', 0, 1), acknowledged('c', 1), { paymentId: 'd', outcome: 'unknown' }],
      [stored('a', 0), stored('c', 1), stored('b', 0, 1)],
    );
    expect(result).toEqual({
      sent: 4,
      acknowledged: 3,
      failed: 1,
      stored: 3,
      duplicates: [],
      lost: [],
      misplaced: [],
      outOfOrder: [],
      falselyFailed: [],
      strangers: [],
    });
  });

  it('names a payment stored twice', () => {
    expect(audit([acknowledged('a', 0)], [stored('a', 0), stored('a', 1)]).duplicates).toEqual(['a']);
  });

  it('names an acknowledged payment that is not stored', () => {
    const result = audit([acknowledged('a', 0), acknowledged('b', -1)], [stored('b', 3)]);
    expect([result.lost, result.misplaced]).toEqual([['a'], ['a']]);
  });

  it('names a payment that is not at the offset that was returned; an unknown offset is no claim', () => {
    const result = audit([acknowledged('a', 7), acknowledged('b', -1)], [stored('a', 6), stored('b', 8)]);
    expect(result.misplaced).toEqual(['a']);
  });

  it('names an acknowledged payment stored before one that was sent earlier, per partition', () => {
    const sent = [acknowledged('a', 1), acknowledged('b', 0), acknowledged('c', 0, 1)];
    const result = audit(sent, [stored('a', 1), stored('b', 0), stored('c', 0, 1)]);
    expect(result.outOfOrder).toEqual(['b']);
  });

  it('names a payment reported as not stored that is stored; one of unknown fate may be', () => {
    const sent: SentPayment[] = [
      { paymentId: 'a', outcome: 'not-stored' },
      { paymentId: 'b', outcome: 'unknown' },
    ];
    expect(audit(sent, [stored('a', 0), stored('b', 1)]).falselyFailed).toEqual(['a']);
  });

  it('names what nobody sent', () => {
    expect(audit([], [stored('x', 0)]).strangers).toEqual(['x']);
  });
});
