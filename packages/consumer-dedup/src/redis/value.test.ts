import { expect, it } from 'vitest';
import type { ClaimRequest } from '../store.ts';
import { decodeMessages, encodeMessage } from './value.ts';

const request = (over: Partial<ClaimRequest['source']>, rest: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key: Buffer.from('k'),
  fingerprint: Buffer.from([0, 255, 10]),
  note: null,
  source: { topic: 'payments', partition: 0, offset: 7n, ...over },
  ...rest,
});

it('a message is read back as it was written, whatever is in it and whatever came before it', () => {
  const requests = [
    request({}),
    request({ offset: 2n ** 63n - 1n }),
    request({ topic: 'line\nfeed, "quotes" and \\' }),
    request({}, { fingerprint: null }),
    request({ topic: null, partition: null, offset: null }),
    request({ topic: 'é\u{1f4b6}', partition: 41 }, { note: 'a "note" with \\' }),
    request({ topic: 'null' }),
    request({}),
  ];
  const text = requests.map(encodeMessage).join('');
  expect(text.match(/\n/g)).toHaveLength(requests.length);
  expect([...decodeMessages(Buffer.from(text), 5)]).toEqual(
    requests.map(({ source, fingerprint, note }) => ({ processedAtMs: 5, source, fingerprint, note, result: null })),
  );
});
