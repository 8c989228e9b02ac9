/** One client, one load, one process: `run-subject.ts CLIENT SETUP_AS_JSON CALLERS|enqueue SECONDS`. Prints JSON. */
import { measure, measureBest } from './load.ts';
import { type SubjectSetup, subjects } from './subjects.ts';

const [name = '', setup = '', callers = '', seconds = ''] = process.argv.slice(2);
const start = subjects[name];
if (!start) throw new Error(`There is no client ${name}.`);
const subject = await start(JSON.parse(setup) as SubjectSetup);
await subject.send(); // metadata, producer id, connections
const warmUpSeconds = 2;
const load = callers === 'enqueue' ? callers : Number(callers);
await measure(subject, load, warmUpSeconds);
console.log(JSON.stringify(await measureBest(subject, load, Number(seconds))));
await subject.close();
process.exit(0);
