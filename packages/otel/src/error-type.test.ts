import { DeliveryError, DeliveryTimeoutError, ProtocolError, TransportError } from '@sendonce/producer-core';
import { describe, expect, test } from 'vitest';
import { errorTypeOf } from './error-type.ts';

const place = { fate: 'unknown', attempts: 1, topic: 't', partition: 0 } as const;

describe('error.type', () => {
  test.each([
    [new DeliveryTimeoutError('…', place), 'REQUEST_TIMED_OUT', 'DELIVERY_TIMEOUT'],
    [new DeliveryError('…', { ...place, code: 'REFUSED' }), 'INVALID_RECORD', 'INVALID_RECORD'],
    [new DeliveryError('…', { ...place, code: 'REFUSED' }), null, 'REFUSED'],
    [new TransportError('…', { sent: 'maybe', code: 'CONNECTION_LOST' }), null, 'CONNECTION_LOST'],
    [Object.assign(new Error('…'), { code: 'ECONNRESET' }), null, 'ECONNRESET'],
    [Object.assign(new Error('…'), { code: 'user 4711 not found' }), null, 'Error'],
    [Object.assign(new Error('…'), { code: 42 }), null, 'Error'],
    [Object.assign(new Error('…'), { name: 'no such account 4711' }), null, '_OTHER'],
    [new TypeError('…'), null, 'TypeError'],
    ['account 4711', null, '_OTHER'],
    [undefined, null, '_OTHER'],
  ])('%s (last answer %s) is %s', (error, answer, expected) => {
    expect(errorTypeOf(error, answer)).toBe(expected);
  });

  test('a protocol error is called what Kafka calls it', () => {
    expect(errorTypeOf(new ProtocolError('…', 31))).toBe('CLUSTER_AUTHORIZATION_FAILED');
  });
});
