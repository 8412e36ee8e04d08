// One pass over the unfinished items of a group: those of quick deployers in one batch; the others are tried together once, and what does not end in that goes
// on, each on a track of its own that outlives the pass. A slow or failing item never delays its siblings.
// Source: docs/architecture.md "Subjects and routes", spec/landscaper.md 2.9.

import { again, done, type Fault, joinOutcomes, type Outcome } from '../../kit/index.ts'
import type { GroupItem } from '../../../activities/landscaper/deploy/run/views.ts'
import { type DeployGroupPass, isUnfinished, newestVersion } from './pass.ts'
import { QUICK_TYPES } from './deployers.gen.ts'
import { runItem, withItem } from './run-item.ts'

export async function deployItems(pass: DeployGroupPass): Promise<Outcome> {
  const unfinished = pass.state.items.filter((item) => isUnfinished(item, pass.jobID))
  const quick = unfinished.filter(({ type }) => QUICK_TYPES.has(type))
  const others = unfinished.filter(({ type }) => !QUICK_TYPES.has(type))
  pass.tracks.retain(new Set(others.map(({ uid }) => uid)))
  const outcome = quick.length === 0 ? done : await answerItems(pass, quick)
  const fresh = others.filter(({ uid }) => !pass.tracks.has(uid))
  if (fresh.length > 0) await sendItems(pass, fresh)
  return outcome
}

async function sendItems(pass: DeployGroupPass, items: readonly GroupItem[]): Promise<void> {
  const { by, jobID, act, subject, state } = pass
  const { sent, woken } = await act.sendItems({
    ...{ by, subject, jobID, known: state.items.map(({ uid }) => uid) },
    items: items.map(({ uid, name, version, uninstalls }) => ({ uid, name, version, uninstalls })),
  })
  const byUid = new Map(sent.map(({ uid, result }) => [uid, result]))
  for (const item of items) {
    const result = byUid.get(item.uid)
    if (result !== undefined) pass.state = withItem(pass.state, item.uid, result.item)
    if (result?.isWaiting !== false) pass.tracks.start(item.uid, () => runItem(pass, item, result !== undefined))
  }
  if (woken) pass.wake()
}

async function answerItems(pass: DeployGroupPass, quick: readonly GroupItem[]): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { items, gone, failures } = await act.deployMockItems({
    by,
    subject,
    jobID,
    uids: quick.map((item) => item.uid),
    ownVersion: newestVersion(state.items),
  })
  // A track may have ended meanwhile: what it has put into the state stays.
  const byUid = new Map(pass.state.items.filter((item) => !gone.includes(item.uid)).map((item) => [item.uid, item]))
  for (const item of items) byUid.set(item.uid, item)
  pass.state = { ...pass.state, items: [...byUid.values()] }

  const faults: Fault[] = failures.map(({ object, code, message }) => ({
    code,
    message: `${object}: ${message}`,
    retryable: true,
  }))
  const retry = faults.length === 0 ? done : again(RETRY_MS)
  return joinOutcomes({ ...done, faults }, retry, ...timeouts(pass))
}

// Source: spec/landscaper.md 2.9: what failed is tried again every 5 s; settle's back-off may make it sooner.
const RETRY_MS = 5000
// A time-out that has passed and cannot be written must not turn into passes without end.
const SHORTEST_WAIT_MS = 1000

function timeouts({ state, jobID }: DeployGroupPass): Outcome[] {
  return state.items
    .filter((item) => QUICK_TYPES.has(item.type) && isUnfinished(item, jobID))
    .flatMap(({ remainingMs }) => (remainingMs === undefined ? [] : [again(Math.max(remainingMs, SHORTEST_WAIT_MS))]))
}
