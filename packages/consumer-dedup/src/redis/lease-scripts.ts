import { KEYS_PER_CALL, LINES, type Script, script } from './script.ts';

/**
 * A shared lease is one string: `L`, how many keys its claim had (a byte), three doubles (fence, end of the lease in ms, time of the
 * claim in ms), a state byte for each key, and their messages, each with its line feed.
 *
 *     H  held      F  free again: released      D  done      -  was not claimed by it
 *     O  done, and the key's own value says so, with its result if one was kept
 *     h, f  was held until the lease ended, or free, and is let go: whoever claims the key now has it
 *
 * All states change here, and a key's value is replaced only once it is let go. So whoever completes and whoever takes over never both
 * succeed, though one of them looks at the lease alone, and no script needs a lease and a key of another slot of a Cluster.
 */
const SHARED = `
local STATES_AT, MOST_KEYS = 26, ${KEYS_PER_CALL}
local HELD, FREE, DONE, DONE_ITSELF = string.byte('HFDO', 1, 4)
local HELD_LET_GO, FREE_LET_GO = string.byte('hf', 1, 2)
local _, now_ms = now()
local function lease_of(key, expected_fence)
  local head = redis.call('GETRANGE', key, 0, STATES_AT + MOST_KEYS - 1)
  if #head < STATES_AT then return nil end
  local fence, ends_ms, claimed_ms = struct.unpack('>ddd', head, 3)
  if expected_fence and fence ~= tonumber(expected_fence) then return nil end
  local states = string.sub(head, STATES_AT + 1, STATES_AT + string.byte(head, 2))
  return { states = states, fence = fence, ends_ms = ends_ms, claimed_ms = claimed_ms }
end
local function states_of(lease)
  return { string.byte(lease.states, 1, -1) }
end
local function is_done(state)
  return state == DONE or state == DONE_ITSELF
end
local function write_states(key, states)
  redis.call('SETRANGE', key, STATES_AT, string.char(unpack(states)))
end
local function messages_of(key, lease)
  return lines_of(redis.call('GETRANGE', key, STATES_AT + #lease.states, -1))
end
local function change(lease, from, to)
  if not lease then return string.rep('0', #ARGV[2]) end
  local count = #lease.states
  if ARGV[3] == 'all' and lease.states == string.rep(string.char(from), count) then
    redis.call('SETRANGE', KEYS[1], STATES_AT, string.rep(string.char(to), count))
    return string.rep('1', count)
  end
  local states, answers = states_of(lease), {}
  for place = 1, #ARGV[2] do
    local index = string.byte(ARGV[2], place) + 1
    local was = states[index]
    if was == from then states[index] = to end
    answers[place] = (was == from or (to == DONE and is_done(was))) and '1' or '0'
  end
  write_states(KEYS[1], states)
  return table.concat(answers)
end
`;

const sharedScript = (body: string): Script => script(LINES, SHARED, body);

/**
 * KEYS begins with the lease's; ARGV with its fence and a byte for each index that is meant. Answers with `1` or `0` for each. Those that
 * only change states are also told whether each of its keys is meant, once.
 */
export const SHARED_LEASE = {
  /**
   * What became of keys, and lets them go if they are claimable. ARGV: only a byte for each index. Answers with a byte for each: `D` done,
   * `H` held, `O` done as its own value says by now, `T` let go after its lease had ended, `F` let go after it was released; then with the
   * rest of the lease, its fence and the time of its claim as doubles, and with the messages of those that are `D`.
   */
  look: sharedScript(`
local lease = lease_of(KEYS[1], nil)
if not lease then return { string.rep('T', #ARGV[1]), struct.pack('>ddd', 0, 0, 0), '' } end
local states, answers, of_done, changed, messages = states_of(lease), {}, {}, false, nil
for place = 1, #ARGV[1] do
  local index = string.byte(ARGV[1], place) + 1
  local state = states[index]
  if state == HELD and lease.ends_ms > now_ms then
    answers[place] = 'H'
  elseif state == DONE_ITSELF then
    answers[place] = 'O'
  elseif state == DONE then
    messages = messages or messages_of(KEYS[1], lease)
    answers[place] = 'D'
    of_done[#of_done + 1] = messages[index]
  else
    local released = state == FREE or state == FREE_LET_GO
    answers[place] = released and 'F' or 'T'
    states[index], changed = released and FREE_LET_GO or HELD_LET_GO, true
  end
end
if changed then write_states(KEYS[1], states) end
local rest_ms = math.max(0, lease.ends_ms - now_ms)
return { table.concat(answers), struct.pack('>ddd', rest_ms, lease.fence, lease.claimed_ms), table.concat(of_done) }
`),
  /** Answers with nothing if the lease has ended: then `completeEach` must see to the retention, too. */
  complete: sharedScript(`
local lease = lease_of(KEYS[1], ARGV[1])
if lease and lease.ends_ms <= now_ms then return false end
return change(lease, HELD, DONE)
`),
  /** The lease stays, so that the next claim's fence and attempt go on from it. */
  release: sharedScript('return change(lease_of(KEYS[1], ARGV[1]), HELD, FREE)'),
  /**
   * KEYS: also all keys of the lease. ARGV: the fence, lease ms, how long the keys are kept from now, and the lease's id. A key that is gone
   * is let go, also when another claim has it by then, whose retention is its own.
   */
  renew: sharedScript(`
local lease = lease_of(KEYS[1], ARGV[1])
if not lease then return string.rep('0', #KEYS - 1) end
local states, answers = states_of(lease), {}
for index = 1, #KEYS - 1 do
  local key = KEYS[index + 1]
  if states[index] == HELD then
    if redis.call('GET', key) == shared(index, ARGV[4]) then
      redis.call('PEXPIRE', key, ARGV[3])
    else
      states[index] = HELD_LET_GO
    end
  end
  answers[index] = states[index] == HELD and '1' or '0'
end
write_states(KEYS[1], states)
redis.call('SETRANGE', KEYS[1], 10, struct.pack('>d', now_ms + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[3]) + 1000)
return table.concat(answers)
`),
  /**
   * Writes to each key that it is done, as if it had been claimed alone: for those with a result, and those whose lease has ended. KEYS: also
   * the keys. ARGV: also retention ms, the lease's id, and the result of each, with `-` before it or empty for none.
   */
  completeEach: sharedScript(`
local lease = lease_of(KEYS[1], ARGV[1])
if not lease then return string.rep('0', #ARGV[2]) end
local states, answers, messages = states_of(lease), {}, messages_of(KEYS[1], lease)
local claim = struct.pack('>dddd', lease.fence, 1, lease.ends_ms, lease.claimed_ms)
for place = 1, #ARGV[2] do
  local index, key = string.byte(ARGV[2], place) + 1, KEYS[place + 1]
  if states[index] == HELD then
    if redis.call('GET', key) == shared(index, ARGV[4]) then
      redis.call('SET', key, done(claim .. messages[index], ARGV[place + 4]), 'PX', ARGV[3])
      states[index] = DONE_ITSELF
    else
      states[index] = HELD_LET_GO
    end
  end
  answers[place] = is_done(states[index]) and '1' or '0'
end
write_states(KEYS[1], states)
return table.concat(answers)
`),
};
