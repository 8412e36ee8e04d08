// Tests the cost of a Disruption of one pod: writes in the API server's audit log and in the journal, and list
// requests. docs/reference/performance.md has the limits.

import { beforeAll, describe, expect, it, vi } from 'vitest'

import { type AuditedWrite, auditedReads, auditedWrites, auditMark } from '../support/cluster/audit-log.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PlayedKubelet } from '../support/chaos/played-kubelet.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'

const MOST_OF_DISRUPTION = 6
/** The creation, the removal of the finalizer, and the deletion. */
const MOST_OF_CHAOS_POD = 3
/**
 * The local activities of its four passes; with dynamic targeting, each pass that may inject reads the selected pods.
 */
const MOST_CALLS = 21
const PASSES = 4
/** The cost of a pass that changes nothing; on a slow machine such a pass may run between two changes. */
const MOST_IDLE_CALLS = 5
const COUNT = 5
const NETWORK = { drop: 30 }

const chaos = useChaos('budgets-disruptions', ['shop'])
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
let played: PlayedKubelet

beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  played = new PlayedKubelet(kubelet)
  await shop().makeNode('n1')
  // Pods that no Disruption selects.
  for (let index = 0; index < COUNT; index++) await shop().runPod(`other-${index}`, { labels: {}, node: 'n1' })
})
describe.each([
  { targeting: 'dynamic', spec: {} },
  { targeting: 'static', spec: { staticTargeting: true } },
])('Disruptions of one pod each, with $targeting targeting', ({ targeting, spec }) => {
  it('stay within their budget from creation to end, and list nothing that they do not select', async () => {
    const names = Array.from({ length: COUNT }, (_, index) => `${targeting}-${index}`)
    for (const name of names) await shop().runPod(name, { labels: { app: name }, node: 'n1' })
    const mark = auditMark(chaos.tenants.auditLogPath)
    for (const name of names)
      await shop().disrupt(name, { selector: { app: name }, count: 1, network: NETWORK, ...spec })
    for (const name of names) await shop().until(name, { injectionStatus: 'Injected' })
    for (const name of names) await shop().remove(name)
    for (const name of names) await shop().gone(name)

    const { disruptions, pods } = storedWrites(mark)
    expect(disruptions.map(({ object }) => object)).toEqual(names)
    expect(disruptions.filter(({ writes }) => writes.length > MOST_OF_DISRUPTION)).toEqual([])
    expect(pods).toHaveLength(COUNT)
    expect(pods.filter(({ writes }) => writes.length > MOST_OF_CHAOS_POD)).toEqual([])
    // The journal contains all writes. It stores the last ones after the end of the pass.
    for (const { object, writes } of [...disruptions, ...pods])
      await vi.waitFor(async () => expect(await journaledWrites(object)).toBe(writes.length), PATIENT)
    for (const name of names) {
      const { calls, passes } = await runOf(name)
      expect(calls).toBeLessThanOrEqual(MOST_CALLS + MOST_IDLE_CALLS * Math.max(0, passes - PASSES))
    }
    // Each list has a selector.
    const lists = auditedReads(chaos.tenants.auditLogPath, mark).filter((read) => read.startsWith('list '))
    expect(lists.length).toBeGreaterThanOrEqual(COUNT)
    expect(lists.filter((list) => !/[?&](?:label|field)Selector=[^&]/.test(list))).toEqual([])
  })
})

describe('a Disruption whose chaos pod changes step by step', () => {
  it('stays within its budget, because intermediate states cause no writes', async () => {
    await played.stop()
    await shop().runPod('slow', { labels: { app: 'slow' }, node: 'n1' })
    const mark = auditMark(chaos.tenants.auditLogPath)
    const made = await shop().disrupt('slow', { selector: { app: 'slow' }, count: 1, network: NETWORK })
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until('slow', { injectionStatus: 'Injected' })
    await shop().remove('slow')
    await shop().until('slow', { injectionStatus: 'PreviouslyInjected' })
    // The chaos pod has completed and is released; its node deletes it after the pass that released it has ended.
    await kubelet.exit(pod!, 0)
    await vi.waitFor(async () => {
      expect((await kubelet.pods(made))[0]?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
    await kubelet.say(pod!, { message: 'its node takes its time' })
    await anotherPassAfterRelease(pod!.metadata.name)
    await kubelet.bury(pod!)
    await shop().gone('slow')

    const { disruptions, pods } = storedWrites(mark)
    expect(disruptions.filter(({ writes }) => writes.length > MOST_OF_DISRUPTION)).toEqual([])
    expect(disruptions).toHaveLength(1)
    expect(pods.filter(({ writes }) => writes.length > MOST_OF_CHAOS_POD)).toEqual([])
    expect(pods).toHaveLength(1)
  })
})

/** Waits until a further pass has followed the pass that released the chaos pod. */
async function anotherPassAfterRelease(chaosPod: string): Promise<void> {
  await vi.waitFor(async () => {
    const releases = await chaos.tenants.pawl.db
      .selectFrom('action')
      .innerJoin('job', (join) =>
        join.onRef('job.workflow_id', '=', 'action.workflow_id').onRef('job.run_id', '=', 'action.run_id'),
      )
      .select(['action.pass', 'job.passes'])
      .where('action.name', '=', chaosPod)
      .where('action.step', '=', 'release')
      .execute()
    expect(releases).toHaveLength(1)
    for (const { pass, passes } of releases) expect(passes).toBeGreaterThan(pass)
  }, PATIENT)
}

/** Waits until the Disruption's run has ended. @returns the numbers of its local activities and passes. */
async function runOf(name: string): Promise<{ readonly calls: number; readonly passes: number }> {
  const run = { workflow_id: '', passes: 0 }
  await vi.waitFor(async () => {
    const found = await chaos.tenants.pawl.db
      .selectFrom('job')
      .select(['workflow_id', 'outcome', 'passes'])
      .where('name', '=', name)
      .execute()
    expect(found.map(({ outcome }) => outcome)).toEqual(['Deleted'])
    Object.assign(run, found[0])
  }, PATIENT)
  const { events } = await chaos.tenants.pawl.client.workflow.getHandle(run.workflow_id).fetchHistory()
  const calls = (events ?? []).filter(
    ({ markerRecordedEventAttributes }) => markerRecordedEventAttributes != null,
  ).length
  return { calls, passes: run.passes }
}

interface WritesOfObject {
  /** The name of the Disruption. */
  readonly object: string
  readonly writes: readonly AuditedWrite[]
}

/**
 * The worker's successful writes since the mark, without Kubernetes Events. Rejected writes, such as conflicts, do not
 * count.
 */
function storedWrites(mark: number) {
  const stored = (namespace: string) =>
    byObject(auditedWrites(chaos.tenants.auditLogPath, mark, namespace).filter(({ code }) => code < 300))
  return { disruptions: stored('shop'), pods: stored(CHAOS_NAMESPACE) }
}

function byObject(writes: readonly AuditedWrite[]): readonly WritesOfObject[] {
  const nameOf = ({ object }: AuditedWrite) => object.split(' ')[1] ?? ''
  const names = [...new Set(writes.map(nameOf))].sort()
  return names.map((object) => ({ object, writes: writes.filter((write) => nameOf(write) === object) }))
}

/** The number of successful writes to the object in the journal, by the object's name. */
async function journaledWrites(name: string): Promise<number> {
  const { count } = await chaos.tenants.pawl.db
    .selectFrom('action')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('name', '=', name)
    .where('error', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
