// Deploys unfinished items of handled types in one pass. Items of quick deployers go into one batch. The others get one common first attempt, and each
// unfinished item continues in a background activity that outlives the pass. A slow or failing item never delays its siblings.
// Source: docs/concepts/architecture.md "Subjects and routes", spec/landscaper.md 2.9.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { again, type StateChange, done, type Fault, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { type DeployPass, type DeployState, isUnfinished, type ItemPass, newestVersion } from './pass.ts'
import { QUICK_TYPES } from './deployers.gen.ts'

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
  const outcome = quick.length === 0 ? done : await runQuickItems(pass, quick, isHosted)
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

async function runQuickItems<State extends DeployState>(
  pass: DeployPass<State>,
  quick: readonly DeployItemView[],
  isHosted: boolean,
): Promise<Outcome> {
  const faults: Fault[] = []
  for (let asked = quick; asked.length > 0;) {
    const { failures, left = [] } = await runQuickBatch(pass, asked, isHosted)
    faults.push(
      ...failures.map(({ object, code, message }) => ({ code, message: `${object}: ${message}`, retryable: true })),
    )
    const uids = new Set(left)
    asked = asked.filter(({ uid }) => uids.has(uid))
  }
  const retry = faults.length === 0 ? done : again(RETRY_MS)
  return joinOutcomes({ ...done, faults }, retry, ...timeoutPasses(pass))
}

async function runQuickBatch<State extends DeployState>(
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
const MIN_WAIT_MS = 1000

function timeoutPasses<State extends DeployState>(pass: DeployPass<State>): Outcome[] {
  return pass.state.deployItems
    .filter((item) => QUICK_TYPES.has(item.type) && isUnfinished(item, pass))
    .flatMap(({ remainingMs }) => (remainingMs === undefined ? [] : [again(Math.max(remainingMs, MIN_WAIT_MS))]))
}

// Runs one item of a deployer that works on another cluster, when the item's first attempt has not ended it (sendItems): deploys or uninstalls the
// item, and waits for the result. Each step is an activity that Temporal retries until the item has ended; the activities handle timeouts and errors.
// Source: docs/concepts/architecture.md "Subjects and routes" (one slow or failing item never delays its siblings).

export interface ItemProgress {
  /** The item was deployed and is not ready. */
  readonly isSent: boolean
  /** See `deployItems`. */
  readonly isHosted: boolean
}

export async function runItem<State extends DeployState>(
  pass: Pick<DeployPass<State>, 'by' | 'subject' | 'jobID' | 'act'>,
  { uid, item, name, uninstalls }: DeployItemView,
  { isSent, isHosted }: ItemProgress,
): Promise<StateChange<State>> {
  const { by, subject, jobID } = pass
  const act = pass.act.forItem(item)
  const input = { by, jobID, uid, namespace: subject.namespace, name, isHosted }
  const send = async () => (uninstalls ? await act.uninstallItem(input) : await act.applyItem(input))
  const sent = isSent ? undefined : await send()
  const { item: after } = sent === undefined || sent.isWaiting ? await act.awaitItem(input) : sent
  return (state) => withItem(state, uid, after)
}

/** @param after undefined when the item is deleted. */
export function withItem<State extends DeployState>(
  state: State,
  uid: string,
  after: DeployItemView | undefined,
): State {
  const changed = after === undefined ? [] : [after]
  const deployItems = state.deployItems.flatMap((one) => (one.uid === uid ? changed : [one]))
  return { ...state, deployItems }
}

/** Deploys the item in its own run: no Execution hosts it, and its status has the job ID already. */
export async function deployItem(pass: ItemPass): Promise<Outcome> {
  return await deployItems(pass, pass.state.deployItems, false)
}
