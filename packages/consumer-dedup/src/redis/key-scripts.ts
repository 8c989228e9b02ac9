import { LINES, script } from './script.ts';

/**
 * A key's value is one string: a state byte, four doubles (fence, attempt, end of the lease in ms, time of the claim in ms), what the
 * claim said about its message, a line feed, and the result if one was kept.
 *
 *     H  held, until the lease ends      F  free again: released      D  done      R  done, and a result follows
 *     S  claimed together with others: nothing but its index (a byte) and the id of the lease they share, which knows the rest
 *
 * Each script checks and writes in one step (R3); the time is Redis's own. The fence is never below the time in microseconds, so that it
 * grows even when a key was lost in a failover or has expired in between.
 *
 * A command that a script calls costs more than all the rest, so a key that nobody had yet takes one to claim it, and one to complete
 * it if it was claimed alone.
 */

/**
 * A claim of a key that has a value: the value if it is done or shared, `H` and the rest of the lease, or `L` and the new claim with
 * `T` for one that took over.
 */
const CLAIM_AGAIN = `
local micros, now_ms = now()
local claimed_ms = math.floor(now_ms)
local lease_ends_ms, retention_ms = now_ms + tonumber(ARGV[1]), ARGV[2]
local function hold(key, fence, attempt, message, takeover)
  local claim = struct.pack('>dddd', math.max(fence + 1, micros), attempt + 1, lease_ends_ms, claimed_ms)
  redis.call('SET', key, 'H' .. claim .. message, 'PX', retention_ms)
  return 'L' .. claim .. (takeover and 'T' or '-')
end
local function claim_again(key, message)
  local state, fence, attempt, held_until_ms = header(key)
  if state == 'D' or state == 'R' or state == 'S' then return redis.call('GET', key) end
  if state == 'H' and held_until_ms > now_ms then return 'H' .. struct.pack('>d', held_until_ms - now_ms) end
  return hold(key, fence or 0, attempt or 0, message, state == 'H')
end
`;

/**
 * KEYS: the keys, then the shared lease's if they are to share one. ARGV: lease ms, retention ms, the id of the shared lease or nothing,
 * then the messages of the keys, all in one. Answers with the claim of all keys that nobody had yet, then with index and answer of each
 * other key.
 *
 * What keys that share a lease have in common is written once, and so is that they are done; a key's own value is short enough for Redis
 * to keep it in one piece with its object. So they are kept for a lease longer than their retention: long enough wherever in the lease
 * they are done.
 */
export const CLAIM = script(
  CLAIM_AGAIN,
  LINES,
  `
local id, messages = ARGV[3], ARGV[4]
local is_shared = id ~= ''
local count = is_shared and #KEYS - 1 or 1
local first = struct.pack('>dddd', micros, 1, lease_ends_ms, claimed_ms)
local kept_ms = is_shared and tonumber(retention_ms) + tonumber(ARGV[1]) or retention_ms
-- As text: a number would be written out anew for each key.
local kept = is_shared and string.format('%.0f', kept_ms) or retention_ms
local call = redis.call
local answers, states, any, lines = { first }, {}, false, nil
for index = 1, count do
  local key = KEYS[index]
  local value = is_shared and shared(index, id) or 'H' .. first .. messages
  if call('SET', key, value, 'PX', kept, 'NX') then
    states[index], any = 'H', true
  else
    lines = lines or lines_of(messages)
    states[index] = '-'
    answers[#answers + 1] = index
    answers[#answers + 1] = claim_again(key, lines[index])
  end
end
if is_shared and any then
  local lease = 'L' .. string.char(count) .. struct.pack('>ddd', micros, lease_ends_ms, claimed_ms) .. table.concat(states) .. messages
  redis.call('SET', KEYS[count + 1], lease, 'PX', kept_ms + 1000)
end
return answers
`,
);

/**
 * Claims keys that their shared lease has let go. ARGV: lease ms, retention ms, then for each key the value that was let go, the fence of
 * that claim, `T` if its lease had ended, and the message. Answers as a claim of a key that has a value; a key that is shared again by
 * then is held.
 */
export const CLAIM_LET_GO = script(
  CLAIM_AGAIN,
  `
local answers = {}
for index, key in ipairs(KEYS) do
  local value, fence, ended, message = unpack(ARGV, 4 * index - 1, 4 * index + 2)
  if redis.call('GET', key) == value then
    answers[index] = hold(key, tonumber(fence), 1, message, ended == 'T')
  else
    local answer = claim_again(key, message)
    if string.sub(answer, 1, 1) == 'S' then answer = 'H' .. struct.pack('>d', 1) end
    answers[index] = answer
  end
end
return answers
`,
);

/** Acts on each key that is held under its fence, the first of which is at a place of ARGV, and answers 1 for those, 0 for others. */
const EACH_HELD = `
local function each_held(first_fence, act)
  local answers = {}
  for index, key in ipairs(KEYS) do
    local state, fence = header(key)
    local is_held = state == 'H' and fence == tonumber(ARGV[first_fence + index - 1])
    if is_held then act(key) end
    answers[index] = is_held and 1 or 0
  end
  return answers
end
`;

/** ARGV: lease ms, then the fence of each key. */
export const RENEW = script(
  EACH_HELD,
  `
local _, now_ms = now()
local lease_ms = tonumber(ARGV[1])
return each_held(2, function(key)
  redis.call('SETRANGE', key, 17, struct.pack('>d', now_ms + lease_ms))
  if redis.call('PTTL', key) < lease_ms then redis.call('PEXPIRE', key, lease_ms) end
end)
`,
);

/** ARGV: retention ms, then the fence and the result of each key; the result with `-` before it, or empty for none. */
export const COMPLETE = script(`
local answers = {}
local values = redis.call('MGET', unpack(KEYS))
for index, key in ipairs(KEYS) do
  local value = values[index]
  answers[index] = 0
  if value and #value >= HEADER_BYTES then
    local state = string.sub(value, 1, 1)
    if state ~= 'F' and state ~= 'S' and struct.unpack('>d', value, 2) == tonumber(ARGV[2 * index]) then
      answers[index] = 1
      if state == 'H' then
        redis.call('SET', key, done(string.sub(value, 2), ARGV[2 * index + 1]), 'PX', ARGV[1])
      end
    end
  end
end
return answers
`);

/** ARGV: the fence of each key. The value stays, so that the next claim's fence and attempt go on from it. */
export const RELEASE = script(
  EACH_HELD,
  `
return each_held(1, function(key) redis.call('SETRANGE', key, 0, 'F') end)
`,
);
