/** `npm run chaos:report`: writes the tables of chaos/results.jsonl into packages/transport-kafka/docs/chaos.md, between its marks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readResults } from './results.ts';
import { replaceBetweenMarks, stormTables } from './tables.ts';

const results = join(import.meta.dirname, 'results.jsonl');
const page = join(import.meta.dirname, '..', 'packages', 'transport-kafka', 'docs', 'chaos.md');
const tables = stormTables(readResults(readFileSync(results, 'utf8')));
writeFileSync(page, replaceBetweenMarks(readFileSync(page, 'utf8'), tables));
