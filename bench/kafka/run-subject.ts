/** One client, one load, one process: `run-subject.ts CLIENT SETUP_AS_JSON CALLERS|enqueue SECONDS`. Prints JSON. */
import { measure } from './load.ts';
import { type SubjectSetup, subjects } from './subjects.ts';

const [name = '', setup = '', callers = '', seconds = ''] = process.argv.slice(2);
const start = subjects[name];
if (!start) throw new Error(`There is no client ${name}.`);
const subject = await start(JSON.parse(setup) as SubjectSetup);
await subject.send(); // metadata, producer id, connections
const warmUpSeconds = 1;
const load = callers === 'enqueue' ? callers : Number(callers);
await measure(subject, load, warmUpSeconds);
const before = subject.acknowledged?.() ?? 0;
const measured = { ...subject, acknowledged: () => (subject.acknowledged?.() ?? 0) - before };
console.log(JSON.stringify(await measure(measured, load, Number(seconds))));
await subject.close();
process.exit(0);
