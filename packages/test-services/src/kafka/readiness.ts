import { setTimeout as sleep } from 'node:timers/promises';
import { rawRequest } from './raw-request.ts';

const metadataKey = 3;
const pauseMs = 50;

/** How many brokers this broker knows, and whether it knows a controller. Metadata v1 without topics. */
async function askCluster(port: number): Promise<{ brokers: number; hasController: boolean }> {
  const noTopics = Buffer.alloc(4);
  const reply = await rawRequest(port, metadataKey, 1, noTopics, 1_000);
  const brokers = reply.readInt32BE(0);
  let at = 4;
  for (let i = 0; i < brokers; i++) {
    at += 4;
    at += 2 + reply.readInt16BE(at);
    at += 4;
    at += 2 + Math.max(0, reply.readInt16BE(at));
  }
  return { brokers, hasController: reply.readInt32BE(at) >= 0 };
}

/** Resolves when the broker answers and knows at least `brokers` brokers and a controller. `assertAlive` may throw to give up. */
export async function waitUntilReady(
  port: number,
  brokers: number,
  timeoutMs: number,
  assertAlive: () => void,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let last = 'no answer yet';
  while (performance.now() < deadline) {
    assertAlive();
    try {
      const seen = await askCluster(port);
      if (seen.brokers >= brokers && seen.hasController) return;
      last = `it knows ${seen.brokers} of ${brokers} brokers`;
    } catch (error) {
      last = (error as Error).message;
    }
    await sleep(pauseMs);
  }
  throw new Error(`The broker on port ${port} was not ready within ${timeoutMs} ms: ${last}`);
}
