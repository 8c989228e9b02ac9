/**
 * A consumer process that dies: processes messages up to a crash point, says so, and waits to be killed.
 *
 *   node test/crash-worker.ts STORE ADDRESS NAMESPACE POINT MESSAGES
 */
import { crashPoints, runUntilCrash } from '../src/testing/index.ts';
import { type CrashStoreName, openCrashStore } from './crash-stores.ts';

const [storeName, address, namespace, point, messages] = process.argv.slice(2) as [
  CrashStoreName,
  string,
  string,
  string,
  string,
];
const { id } = crashPoints.find((one) => one.id === point)!;
const { store, effect } = await openCrashStore(storeName, address);

// Keeps the process alive while it waits.
setInterval(() => {}, 60_000);

await runUntilCrash({
  store,
  namespace,
  point: id,
  messages: Number(messages),
  effect: (context) => effect(context, namespace),
  atPoint: () => {
    process.stdout.write('at the point\n');
    return new Promise<never>(() => {});
  },
});
throw new Error(`the point ${point} was not reached`);
