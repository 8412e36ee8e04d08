// Deploys unfinished items of handled types in one pass. Items of quick deployers go into one batch. The others get one common first attempt, and each
// unfinished item continues in a background activity that outlives the pass. A slow or failing item never delays its siblings.
// Source: docs/architecture.md "Subjects and routes", spec/landscaper.md 2.9.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { again, done, type Fault, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { type DeployPass, type DeployState, isUnfinished, newestVersion } from './pass.ts'
import { QUICK_TYPES } from './deployers.gen.ts'
import { runItem, withItem } from './run-item.ts'

/**
 * @param items unfinished items; hosted items may not have started.
 * @param isHosted whether the items' first status writes start the job, because no parent hands down a job ID.
 */
export async function deployItems<State extends DeployState>(
  pass: DeployPass<State>,
  items: readonly DeployItemView[],
  isHosted: boolean,
): Promise<Outcome> {
  const quick = items.filter(({ type }) => QUICK_TYPES.has(type))
  const outcome = quick.length === 0 ? done : await answerItems(pass, quick, isHosted)
  const fresh = items.filter(({ type, uid }) => !QUICK_TYPES.has(type) && !pass.background.has(uid))
  if (fresh.length > 0) await sendItems(pass, fresh, isHosted)
  return outcome
}

async function sendItems<State extends DeployState>(
  pass: DeployPass<State>,
  items: readonly DeployItemView[],
  isHosted: boolean,
): Promise<void> {
  const { by, jobID, act, subject } = pass
  const { sent } = await act.sendItems({
    by,
    subject,
    jobID,
    isHosted,
    items: items.map(({ uid, item, name, version, uninstalls }) => ({ uid, item, name, version, uninstalls })),
  })
  const byUid = new Map(sent.map(({ uid, result }) => [uid, result]))
  for (const item of items) {
    const result = byUid.get(item.uid)
    if (result !== undefined) pass.state = withItem(pass.state, item.uid, result.item)
    if (result?.isWaiting !== false)
      pass.background.start(item.uid, () => runItem(pass, item, { isSent: result !== undefined, isHosted }))
  }
}

async function answerItems<State extends DeployState>(
  pass: DeployPass<State>,
  quick: readonly DeployItemView[],
  isHosted: boolean,
): Promise<Outcome> {
  const faults: Fault[] = []
  for (let asked = quick; asked.length > 0;) {
    const { failures, left = [] } = await answerSome(pass, asked, isHosted)
    faults.push(
      ...failures.map(({ object, code, message }) => ({ code, message: `${object}: ${message}`, retryable: true })),
    )
    const uids = new Set(left)
    asked = asked.filter(({ uid }) => uids.has(uid))
  }
  const retry = faults.length === 0 ? done : again(RETRY_MS)
  return joinOutcomes({ ...done, faults }, retry, ...timeouts(pass))
}

async function answerSome<State extends DeployState>(
  pass: DeployPass<State>,
  asked: readonly DeployItemView[],
  isHosted: boolean,
) {
  const { by, subject, jobID, act, state } = pass
  const answered = await act.deployMockItems({
    by,
    subject,
    jobID,
    isHosted,
    items: asked.map(({ uid, item }) => ({ uid, item })),
    ownVersion: newestVersion(state.deployItems),
  })
  // A background activity may have ended meanwhile; the state keeps its result.
  const gone = new Set(answered.gone)
  const byUid = new Map(pass.state.deployItems.filter(({ uid }) => !gone.has(uid)).map((item) => [item.uid, item]))
  for (const item of answered.items) byUid.set(item.uid, item)
  pass.state = { ...pass.state, deployItems: [...byUid.values()] }
  return answered
}

// Source: spec/landscaper.md 2.9: failed items are retried every 5 s; the back-off of settle may be shorter.
const RETRY_MS = 5000
// Lower bound, so that a timeout that has passed and cannot be written yet does not cause endless passes.
const SHORTEST_WAIT_MS = 1000

function timeouts<State extends DeployState>(pass: DeployPass<State>): Outcome[] {
  return pass.state.deployItems
    .filter((item) => QUICK_TYPES.has(item.type) && isUnfinished(item, pass))
    .flatMap(({ remainingMs }) => (remainingMs === undefined ? [] : [again(Math.max(remainingMs, SHORTEST_WAIT_MS))]))
}
