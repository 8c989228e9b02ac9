import { createHash } from 'node:crypto';

/** Keys of one script call: enough to spare round trips, few enough that other clients wait for less than a millisecond. */
export const KEYS_PER_CALL = 100;

export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** A script that may call `header`, `done`, `shared` and `now`. */
export function script(...parts: readonly string[]): Script {
  const source = HEADER + parts.join('');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** What the first bytes of a key's value say, values as they are written (see `key-scripts.ts`), and Redis's time. */
const HEADER = `
local HEADER_BYTES = 33
local function header(key)
  local bytes = redis.call('GETRANGE', key, 0, HEADER_BYTES - 1)
  if string.sub(bytes, 1, 1) == 'S' then return 'S' end
  if #bytes < HEADER_BYTES then return nil end
  local fence, attempt, lease_ends_ms = struct.unpack('>ddd', bytes, 2)
  return string.sub(bytes, 1, 1), fence, attempt, lease_ends_ms
end
local function done(claim_and_message, result)
  return (result == '' and 'D' or 'R') .. claim_and_message .. string.sub(result, 2)
end
local function shared(index, id)
  return 'S' .. string.char(index - 1) .. id
end
local function now()
  local time = redis.call('TIME')
  local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
  return micros, micros / 1000
end
`;

/** Messages that follow on one another, each with its line feed. */
export const LINES = `
local function lines_of(text)
  local lines = {}
  for line in string.gmatch(text, '[^\\n]*\\n') do lines[#lines + 1] = line end
  return lines
end
`;
