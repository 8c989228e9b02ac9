import { createHash } from 'node:crypto';

/**
 * A key's value is one string: a state byte, four doubles (fence, attempt, end of the lease in ms, time of the claim in
 * ms), what the claim said about its message, a line feed, and the result if one was kept.
 *
 *     H  held, until the lease ends      F  free again: released      D  done      R  done, and a result follows
 *
 * Each script checks and writes in one step (R3); the time is Redis's own. The fence is never below the time in
 * microseconds, so that it grows even when a key was lost in a failover or has expired in between.
 *
 * A command that a script calls costs more than all the rest, so a key that nobody had yet takes one to claim and one to
 * complete, beside one that reads them all.
 */
const HEADER = `
local HEADER_BYTES = 33
local function header(key)
  local bytes = redis.call('GETRANGE', key, 0, HEADER_BYTES - 1)
  if #bytes < HEADER_BYTES then return nil end
  local fence, attempt, lease_ends_ms = struct.unpack('>ddd', bytes, 2)
  return string.sub(bytes, 1, 1), fence, attempt, lease_ends_ms
end
local function now()
  local time = redis.call('TIME')
  local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
  return micros, math.floor(micros / 1000)
end
`;

export interface Script {
  readonly source: string;
  readonly sha: string;
}

function script(body: string): Script {
  const source = HEADER + body;
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * ARGV: lease ms, retention ms, then the message of each key. Answers with the claim of all keys that nobody had yet, then by
 * key: 1 for one of those, else the value if done, `H` and the rest of the lease, or `L` and the new claim.
 */
export const CLAIM = script(`
local micros, now_ms = now()
local lease_ends_ms, retention_ms = now_ms + tonumber(ARGV[1]), ARGV[2]
local first = struct.pack('>dddd', micros, 1, lease_ends_ms, now_ms)
local held = 'H' .. first
local answers = { first }
local function claim_again(key, message)
  local state, fence, attempt, held_until_ms = header(key)
  if state == 'D' or state == 'R' then return redis.call('GET', key) end
  if state == 'H' and held_until_ms > now_ms then return 'H' .. struct.pack('>d', held_until_ms - now_ms) end
  local claim = struct.pack('>dddd', math.max((fence or 0) + 1, micros), (attempt or 0) + 1, lease_ends_ms, now_ms)
  redis.call('SET', key, 'H' .. claim .. message, 'PX', retention_ms)
  return 'L' .. claim .. (state == 'H' and 'T' or '-')
end
for index, key in ipairs(KEYS) do
  local message = ARGV[index + 2]
  if redis.call('SET', key, held .. message, 'PX', retention_ms, 'NX') then
    answers[index + 1] = 1
  else
    answers[index + 1] = claim_again(key, message)
  end
end
return answers
`);

/** ARGV: lease ms, then the fence of each key. */
export const RENEW = script(`
local _, now_ms = now()
local lease_ms = tonumber(ARGV[1])
local answers = {}
for index, key in ipairs(KEYS) do
  local state, fence = header(key)
  if state == 'H' and fence == tonumber(ARGV[index + 1]) then
    redis.call('SETRANGE', key, 17, struct.pack('>d', now_ms + lease_ms))
    if redis.call('PTTL', key) < lease_ms then redis.call('PEXPIRE', key, lease_ms) end
    answers[index] = 1
  else
    answers[index] = 0
  end
end
return answers
`);

/** ARGV: retention ms, then the fence and the result of each key; the result with \`-\` before it, or empty for none. */
export const COMPLETE = script(`
local answers = {}
local values = redis.call('MGET', unpack(KEYS))
for index, key in ipairs(KEYS) do
  local value = values[index]
  answers[index] = 0
  if value and #value >= HEADER_BYTES then
    local state = string.sub(value, 1, 1)
    if state ~= 'F' and struct.unpack('>d', value, 2) == tonumber(ARGV[2 * index]) then
      answers[index] = 1
      if state == 'H' then
        local result = ARGV[2 * index + 1]
        local done = (result == '' and 'D' or 'R') .. string.sub(value, 2) .. string.sub(result, 2)
        redis.call('SET', key, done, 'PX', ARGV[1])
      end
    end
  end
end
return answers
`);

/** ARGV: the fence of each key. The value stays, so that the next claim's fence and attempt go on from it. */
export const RELEASE = script(`
local answers = {}
for index, key in ipairs(KEYS) do
  local state, fence = header(key)
  if state == 'H' and fence == tonumber(ARGV[index]) then
    redis.call('SETRANGE', key, 0, 'F')
    answers[index] = 1
  else
    answers[index] = 0
  end
end
return answers
`);
