/** One client, one load, one process: `run-subject.ts CLIENT HOST:PORT TOPIC CALLERS|enqueue SECONDS VALUE_BYTES`. Prints JSON. */
import { measure } from './load.ts';
import { subjects } from './subjects.ts';

const [name = '', bootstrap = '', topic = '', callers = '', seconds = '', valueBytes = ''] = process.argv.slice(2);
const start = subjects[name];
if (!start) throw new Error(`There is no client ${name}.`);
const subject = await start({ bootstrap, topic, value: 'x'.repeat(Number(valueBytes)) });
await subject.send(); // metadata, producer id, connections
const warmUpSeconds = 1;
const load = callers === 'enqueue' ? callers : Number(callers);
await measure(subject, load, warmUpSeconds);
const before = subject.acknowledged?.() ?? 0;
const measured = { ...subject, acknowledged: () => (subject.acknowledged?.() ?? 0) - before };
console.log(JSON.stringify(await measure(measured, load, Number(seconds))));
await subject.close();
process.exit(0);
