// Tests a Disruption and its targets: what the worker reports about pods and nodes in trouble, which events wake the Disruption, another tenant's pods with the same
// labels, and chaos pods that a user deletes. Source: spec/chaos.md 1.10, 2.3, 4.3, B14.

import { sql } from 'kysely'
import { beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { DISRUPTION_NAMESPACE_LABEL, EVENT_SOURCE } from '../../workflows/chaos/contract.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'

const chaos = useChaos('disruption-targets', ['shop', 'mallory'])
const [shop, mallory] = [() => chaos.of('shop'), () => chaos.of('mallory')]
const SPEC = { selector: { app: 'web' }, count: '100%', network: { drop: 30 } }
let kubelet: ChaosKubelet
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  for (const name of ['n1', 'n2']) await shop().makeNode(name)
})

describe('a Disruption', () => {
  it.each([
    { what: 'with dynamic targeting', staticTargeting: false },
    { what: 'with static targeting', staticTargeting: true },
  ])('$what reports a target in trouble, and its recovery', async ({ staticTargeting }) => {
    const name = staticTargeting ? 'watched-static' : 'watched'
    await run(name, name, 'n1')
    const spec = { selector: { app: name }, count: 1, staticTargeting, cpuPressure: {} }
    const made = await shop().disrupt(name, spec)
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until(name, { injectionStatus: 'Injected' })
    const container = { name: 'app', image: 'app', imageID: '', containerID: 'containerd://1', ready: true }
    const waiting = { state: { waiting: { reason: 'CrashLoopBackOff' } }, restartCount: 3 }
    await shop().tell('pods', name, { containerStatuses: [{ ...container, ...waiting }] })
    const told = async () => {
      const events = await shop().events('Disruption', name)
      return events
        .filter(({ reason }) => !reason.endsWith('Created') && reason !== 'NoTargetsFound')
        .map(({ type, reason, message }) => [type, reason, message])
    }
    const restarts = ['Warning', 'TargetPodTooManyRestarts', `target ${name}: container app was restarted 3 times`]
    const warning = ['Warning', 'TargetPodContainersInWarningState', `target ${name}: container app: CrashLoopBackOff`]
    await vi.waitFor(async () => expect((await told()).sort()).toEqual([warning, restarts]), PATIENT)
    const onPod = async () => (await shop().events('Pod', name)).map(({ reason, message }) => [reason, message]).sort()
    const disrupted = ['Disrupted', expect.stringContaining(name) as string]
    const target = `target of Disruption ${made.metadata.namespace ?? ''}/${name}:`
    const warnedOn = [
      ['TargetPodContainersInWarningState', `${target} container app: CrashLoopBackOff`],
      ['TargetPodTooManyRestarts', `${target} container app was restarted 3 times`],
    ]
    await vi.waitFor(async () => expect(await onPod()).toEqual([disrupted, ...warnedOn]), PATIENT)
    await shop().until(name, {
      targetStates: { [name]: { restarts: { app: 3 }, warnings: ['TargetPodContainersInWarningState'] } },
    })
    await shop().tell('pods', name, { containerStatuses: [{ ...container, state: { running: {} }, restartCount: 3 }] })
    const recovered = ['Normal', 'RecoveredWarningStateInTargetPod', `target ${name}: the target has recovered`]
    await vi.waitFor(async () => expect((await told()).sort()).toEqual([recovered, warning, restarts]), PATIENT)
    const well = ['RecoveredWarningStateInTargetPod', `${target} the target has recovered`]
    await vi.waitFor(async () => expect(await onPod()).toEqual([disrupted, well, ...warnedOn]), PATIENT)
    await shop().until(name, { targetStates: { [name]: { restarts: { app: 3 } } } })
    await shop().finish(made, kubelet)
  })

  it('reports Warning Events about its targets only, until a container restarts', async () => {
    for (const name of ['probed', 'bystander']) await run(name, name, 'n1')
    const made = await shop().disrupt('probed', { selector: { app: 'probed' }, count: 1, cpuPressure: {} })
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until('probed', { injectionStatus: 'Injected' })
    await warn('bystander', 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500')
    await warn('probed', 'FailedMount', 'MountVolume.SetUp failed for volume "secret-of-the-shop"')
    await warn('probed', 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500')
    const told = async () =>
      (await shop().events('Disruption', 'probed'))
        .filter(({ reason }) => /^(Target|Recovered)/.test(reason))
        .map(({ type, reason, message }) => [type, reason, message])
        .sort()
    const warnings = [
      ['Warning', 'TargetPodInWarningState', 'target probed: FailedMount'],
      ['Warning', 'TargetPodLivenessProbe', 'target probed: the liveness probe fails'],
    ]
    await vi.waitFor(async () => expect(await told()).toEqual(warnings), PATIENT)
    const startedAt = new Date(Date.now() + 1000).toISOString()
    const container = { name: 'app', image: 'app', imageID: '', containerID: 'containerd://2', ready: true }
    await shop().tell('pods', 'probed', {
      containerStatuses: [{ ...container, restartCount: 1, state: { running: { startedAt } } }],
    })
    const recovered = ['Normal', 'RecoveredWarningStateInTargetPod', 'target probed: the target has recovered']
    await vi.waitFor(async () => expect(await told()).toEqual([recovered, ...warnings]), PATIENT)
    await expectWarningsOnly()
    await shop().finish(made, kubelet)
  })

  it('is woken by pods that it selects or has selected, and by no other pod of its namespace', async () => {
    for (const name of ['chosen', 'other']) await run(name, name, 'n1')
    const made = await shop().disrupt('woken', { selector: { app: 'chosen' }, count: '100%', cpuPressure: {} })
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until('woken', { injectionStatus: 'Injected' })
    await shop().labelPod('other', { note: 'x' })
    await warn('other', 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500')
    // Its creation, its running state, its label, the Warning.
    const ignored = ['ignored', 'ignored', 'ignored', 'ignored']
    await vi.waitFor(async () => expect(await outcomes('other')).toEqual(ignored), PATIENT)
    await shop().labelPod('other', { app: 'chosen' })
    const [, second] = await kubelet.untilPods(made, 2)
    expect(second).toBeDefined()
    await shop().labelPod('other', { app: 'other' })
    await vi.waitFor(async () => expect(await outcomes('other')).toEqual([...ignored, 'wake', 'wake']), PATIENT)
    await shop().until('woken', { targets: ['chosen'] })
    await shop().finish(made, kubelet)
  })

  it('reports the memory pressure of a target node, and its recovery', async () => {
    await shop().labelNode('n2', { disk: 'slow' })
    const made = await shop().disrupt('short-node', {
      level: 'node',
      count: 1,
      cpuPressure: {},
      selector: { disk: 'slow' },
    })
    await kubelet.untilPods(made, 1)
    const conditions = (is: string) => ({
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'MemoryPressure', status: is, reason: 'KubeletHasInsufficientMemory' },
      ],
    })
    await shop().tell('nodes', 'n2', conditions('True'))
    const reasons = async () => await shop().reasons('Disruption', 'short-node')
    await vi.waitFor(async () => expect(await reasons()).toContain('TargetNodeUnderMemoryPressure'), PATIENT)
    await shop().tell('nodes', 'n2', conditions('False'))
    await vi.waitFor(async () => expect(await reasons()).toContain('RecoveredWarningStateInTargetNode'), PATIENT)
    await shop().finish(made, kubelet)
  })

  it('selects pods in its namespace only, and does not affect a Disruption of the same name in another namespace', async () => {
    for (const tenant of [shop(), mallory()]) await tenant.runPod('web', { labels: { app: 'web' }, node: 'n1' })
    await shop().runPod('only-here', { labels: { app: 'web' }, node: 'n1' })
    const made = await shop().disrupt('same', SPEC)
    const othersMade = await mallory().disrupt('same', SPEC)
    const [own, foreign] = [await kubelet.untilPods(made, 2), await kubelet.untilPods(othersMade, 1)]
    for (const pod of [...own, ...foreign]) await kubelet.ready(pod)
    await shop().until('same', { injectionStatus: 'Injected', targets: ['only-here', 'web'] })
    await mallory().until('same', { injectionStatus: 'Injected', targets: ['web'] })

    await mallory().remove('same')
    for (const pod of foreign) await kubelet.end(pod)
    await mallory().gone('same')
    expect(await shop().status('same')).toMatchObject({ injectionStatus: 'Injected' })
    for (const { metadata } of await kubelet.pods(made)) {
      expect(metadata.deletionTimestamp).toBeUndefined()
      expect(metadata.labels?.[DISRUPTION_NAMESPACE_LABEL]).toBe('shop')
    }
    await shop().finish(made, kubelet)
  })

  // Source: spec/chaos.md 4.3, B14.
  it('creates another chaos pod when a user deletes one, and increments runCount', async () => {
    const made = await shop().disrupt('by-hand', { ...SPEC, count: 1 })
    const [first] = await kubelet.untilPods(made, 1)
    await kubelet.ready(first!)
    await shop().until('by-hand', { injectionStatus: 'Injected', runCount: 1 })
    await kubelet.delete(first!)
    await kubelet.exit(first!, 0)
    await vi.waitFor(async () => {
      const still = (await kubelet.pods(made)).find(({ metadata }) => metadata.uid === first?.metadata.uid)
      expect(still?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
    await kubelet.bury(first!)
    const second = await vi.waitFor(async () => {
      const found = (await kubelet.pods(made)).find(({ metadata }) => metadata.uid !== first?.metadata.uid)
      expect(found).toBeDefined()
      return found!
    }, PATIENT)
    expect(second.metadata.name).not.toBe(first?.metadata.name)
    await kubelet.ready(second)
    await shop().until('by-hand', { injectionStatus: 'Injected', runCount: 2 })
    await shop().finish(made, kubelet)
  })
})

/** Of all Events of the cluster, the journal contains only Warnings of other controllers about pods. */
async function expectWarningsOnly(): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from object where kind = 'Event'`.execute(
    chaos.tenants.pawl.db,
  )
  const { items } = await shop().cluster.kube.request<ObjectList>('GET', '/api/v1/events')
  const others = (items as readonly EventObject[]).filter(
    ({ type, involvedObject, source }) =>
      type !== 'Warning' || involvedObject.kind !== 'Pod' || source?.component === EVENT_SOURCE,
  )
  expect(rows.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^probed\./))
  expect(others.map(({ involvedObject }) => involvedObject.kind)).toContain('Disruption')
  const kinds = others.filter(({ reason }) => reason === 'TargetPodLivenessProbe').map((one) => one.involvedObject.kind)
  expect(kinds.sort()).toEqual(['Disruption', 'Pod'])
  const known = new Set(rows.map(({ name }) => name))
  expect(others.filter(({ metadata }) => known.has(metadata.name))).toEqual([])
}

type EventObject = KubeObject & {
  readonly type: string
  readonly reason: string
  readonly involvedObject: { readonly kind: string }
  readonly source?: { readonly component?: string }
}

/** Returns the journal's outcomes of the watch events of a pod and of Events about it, in order. */
async function outcomes(name: string): Promise<readonly string[]> {
  const { rows } = await sql<{ outcome: string }>`
    select outcome from watch_event where namespace = ${shop().cluster.namespace}
      and (kind = 'Pod' and name = ${name} or kind = 'Event' and name like ${`${name}.%`}) order by seq`.execute(
    chaos.tenants.pawl.db,
  )
  return rows.map(({ outcome }) => outcome)
}

/** Creates a Warning Event, as a kubelet does. */
async function warn(name: string, reason: string, message: string): Promise<void> {
  const { kube, namespace } = shop().cluster
  const found = await kube.request<KubeObject>('GET', `/api/v1/namespaces/${namespace}/pods/${name}`)
  const involvedObject = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: found.metadata.uid }
  const at = new Date().toISOString()
  const times = { firstTimestamp: at, lastTimestamp: at, count: 1 }
  const body = { metadata: { generateName: `${name}.` }, type: 'Warning', reason, message, involvedObject, ...times }
  await kube.request('POST', `/api/v1/namespaces/${namespace}/events`, { body })
}

const run = async (name: string, app: string, node: string) => await shop().runPod(name, { labels: { app }, node })
