// A Disruption ends whatever becomes of its target, of the node, of its injectors and of its worker; what may be left is told as stuck, with the way out.
// Source: spec/chaos.md 8.5, X4 and X6; seeds/chaos-controller.txt "Cleanup phase".

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { type ChaosPodObject, ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { MovableClock, whyNoMovableClock } from '../support/movable-clock.ts'

const DISTURBERS = 'disturbers'
type Told = KubeObject & { readonly reason: string; readonly involvedObject: object }

const clock = new MovableClock()
const fixed = whyNoMovableClock()
/** A worker that goes by it. */
const MOVED = 'moved-worker'
const chaos = useChaos('disruption-ends', ['shop'], undefined, {
  ...{ proxied: true, environments: { [MOVED]: clock.env } },
})
afterAll(() => clock.remove())
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
// Here, for it counts for the tests that are found after it.
beforeAll(() => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
})

const TWO_KINDS = { network: { drop: 30 }, cpuPressure: {} }

// Longer than it takes until the chaos pods are there, also on a busy machine.
const SHORT = '30s'
const UNTIL_OVER = { timeout: 120_000, interval: 50 }

/** Two kinds on one target on a node of its own, all called as the Disruption, whose chaos pods are ready. */
async function disturbed(name: string, duration = '1h'): Promise<readonly ChaosPodObject[]> {
  await shop().makeNode(name)
  await shop().runPod(name, { labels: { app: name }, node: name })
  const made = await shop().disrupt(name, { selector: { app: name }, count: 1, duration, ...TWO_KINDS })
  const pods = await kubelet.untilPods(made, 2)
  for (const pod of pods) await kubelet.ready(pod)
  return pods
}

/** The same, when it has told so. */
async function injected(name: string): Promise<readonly ChaosPodObject[]> {
  const pods = await disturbed(name)
  await shop().until(name, { injectionStatus: 'Injected' })
  return pods
}

/** With the account of injectors, which pods ask for. */
async function makeNamespace(name: string): Promise<void> {
  const { kube } = shop().cluster
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  const body = { metadata: { name: 'chaos-injector' } }
  await kube.request('POST', `/api/v1/namespaces/${name}/serviceaccounts`, { body })
}

async function deleteNow(path: string): Promise<void> {
  await shop().cluster.kube.request('DELETE', path, { body: { gracePeriodSeconds: 0 } })
}

/** Their nodes take them away as soon as the controller has let go of them, and not before. */
async function allLetGo(pods: readonly ChaosPodObject[]): Promise<void> {
  for (const { metadata } of pods)
    await vi.waitFor(async () => {
      const still = (await kubelet.pods()).find((one) => one.metadata.uid === metadata.uid)
      expect(still?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
  for (const pod of pods) await kubelet.bury(pod)
}

describe('a Disruption ends', () => {
  const losses = [
    ['target', (name: string) => `/api/v1/namespaces/shop/pods/${name}`],
    ['node', (name: string) => `/api/v1/nodes/${name}`],
  ] as const
  it.each(sampleOf('a Disruption without its target or node', losses, 1))(
    'when its %s is gone, though nobody ends its chaos pods',
    async (what, path) => {
      const name = `no-${what}`
      const pods = await injected(name)
      await deleteNow(path(name))
      await shop().remove(name)
      await allLetGo(pods)
      await shop().gone(name)
      expect(await shop().reasons('Disruption', name)).not.toContain('StuckOnRemoval')
    },
  )

  // Both wait for a deadline, side by side.
  it.concurrent('at its deadline, also where an injector does not: its chaos pod is ended', async () => {
    const pods = await disturbed('deaf', SHORT)
    await vi.waitFor(async () => {
      for (const { metadata } of await kubelet.pods(await shop().get('deaf')))
        expect(metadata.deletionTimestamp).toBeDefined()
      expect((await shop().status('deaf')).injectionStatus).toMatch(/^Previously/)
    }, UNTIL_OVER)
    for (const pod of pods) await kubelet.end(pod)
    await vi.waitFor(async () => expect(await kubelet.pods(await shop().get('deaf'))).toEqual([]), PATIENT)
    expect((await shop().status('deaf')).isStuckOnRemoval ?? false).toBe(false)
    await shop().remove('deaf')
    await shop().gone('deaf')
  })

  it.concurrent('and is stuck, with the way out, when an injector could not clean at its deadline', async () => {
    const [failed, other] = await disturbed('unclean', SHORT)
    await kubelet.exit(other!, 0)
    await kubelet.exit(failed!, 1)
    await vi.waitFor(async () => expect((await shop().status('unclean')).isStuckOnRemoval).toBe(true), UNTIL_OVER)
    expect(await shop().reasons('Disruption', 'unclean')).toContain('StuckOnRemoval')
    await kubelet.release(failed!)
    await shop().until('unclean', { isStuckOnRemoval: false })
    await shop().remove('unclean')
    await kubelet.bury(other!)
    await shop().gone('unclean')
  })

  // X4. The worker that comes back has another namespace of chaos pods, and so have the tests behind this one: what is there stays with the former.
  it('without a chaos pod, when its worker comes back after its deadline', async () => {
    const { pawl } = chaos.tenants
    const former = await injected('former')
    const made = await begunAlone('late', '5s')
    const endsAt = Date.parse(made.metadata.creationTimestamp ?? '') + 5000
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(endsAt), { timeout: 30_000, interval: 50 })
    await makeNamespace(DISTURBERS)
    chaos.configure({ chaosNamespace: DISTURBERS })
    await pawl.startWorker()
    await endsWithoutPods('late')
    expect(await shop().status('former')).toMatchObject({
      injectionStatus: 'Injected',
      chaosNamespace: CHAOS_NAMESPACE,
    })
    await shop().remove('former')
    await vi.waitFor(async () => {
      const found = await kubelet.pods(await shop().get('former'))
      expect(found.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false])
    }, PATIENT)
    for (const pod of former) await kubelet.end(pod)
    await shop().gone('former')
    kubelet = new ChaosKubelet(shop().cluster.kube, DISTURBERS)
  })
})

/** Its worker is killed before the first thing that it would do. */
async function begunAlone(name: string, duration: string) {
  const { pawl, proxies } = chaos.tenants
  await shop().makeNode(name)
  await shop().runPod(name, { labels: { app: name }, node: name })
  const killed = new Promise<void>((resolve) => {
    proxies.worker.arm({
      ...{ at: { label: 'PATCH disruptions/status', nth: 1 }, when: 'before' },
      async act() {
        await pawl.kill('worker')
        resolve()
        return 'cut'
      },
    })
  })
  const made = await shop().disrupt(name, { selector: { app: name }, count: 1, duration, ...TWO_KINDS })
  await killed
  return made
}

async function endsWithoutPods(name: string): Promise<void> {
  await shop().until(name, { injectionStatus: 'PreviouslyNotInjected' })
  expect(chaos.tenants.proxies.worker.writes.filter(({ label }) => label === 'POST pods')).toEqual([])
  await shop().remove(name)
  await shop().gone(name)
}

// X4
const HOURS = 3600
const JUMPS = sampleOf('a Disruption whose clock jumps', ['while away', 'forward', 'back'] as const, 1)
const why = fixed === undefined ? '' : ` (skipped: ${fixed})`
describe.skipIf(fixed !== undefined)(`a Disruption whose worker has a clock that jumps${why}`, () => {
  afterEach(async () => {
    clock.set(0)
    await chaos.tenants.pawl.kill(MOVED)
    await chaos.tenants.pawl.startWorker()
  })

  /** All that is there goes on under its hands. */
  async function changeWorkers(): Promise<void> {
    await chaos.tenants.pawl.kill('worker')
    await chaos.tenants.pawl.startWorker(MOVED)
  }

  async function endedEarly(name: string): Promise<void> {
    const told = (await shop().events('Disruption', name)).filter(({ reason }) => reason === 'DurationOver')
    expect(told.map(({ message }) => message)).toEqual([
      expect.stringContaining("its time is over by a clock that Temporal's is behind"),
    ])
  }

  if (JUMPS.includes('while away'))
    it('ends without a chaos pod when it has jumped past the deadline while no worker ran', async () => {
      await begunAlone('jumped', '1h')
      clock.set(2 * HOURS)
      await chaos.tenants.pawl.startWorker(MOVED)
      await shop().until('jumped', { injectionStatus: 'PreviouslyNotInjected' })
      await endedEarly('jumped')
      await endsWithoutPods('jumped')
    })

  if (JUMPS.includes('forward'))
    it('ends with its chaos pods when it jumps past the deadline', async () => {
      await changeWorkers()
      const pods = await injected('forward')
      clock.set(2 * HOURS)
      await shop().until('forward', { injectionStatus: 'PreviouslyInjected' })
      await vi.waitFor(async () => {
        const left = await kubelet.pods(await shop().get('forward'))
        expect(left.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false])
      }, PATIENT)
      await endedEarly('forward')
      for (const pod of pods) await kubelet.end(pod)
      await vi.waitFor(async () => expect(await kubelet.pods(await shop().get('forward'))).toEqual([]), PATIENT)
      expect(await shop().reasons('Disruption', 'forward')).not.toContain('StuckOnRemoval')
      await shop().remove('forward')
      await shop().gone('forward')
    })

  if (JUMPS.includes('back'))
    it('is injected once, and ends when it was to, when it jumps back', async () => {
      await changeWorkers()
      const made = await disturbed('back', SHORT)
      clock.set(-2 * HOURS)
      await vi.waitFor(async () => {
        const left = await kubelet.pods(await shop().get('back'))
        expect(left.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false])
        expect((await shop().status('back')).injectionStatus).toMatch(/^Previously/)
      }, UNTIL_OVER)
      expect((await shop().status('back')).runCount).toBe(1)
      for (const pod of made) await kubelet.end(pod)
      await vi.waitFor(async () => expect(await kubelet.pods(await shop().get('back'))).toEqual([]), PATIENT)
      await shop().remove('back')
      await shop().gone('back')
    })
})

describe('a Disruption that is gone, since somebody has taken its finalizer off,', () => {
  /** As `kubectl patch` and `kubectl delete` do it. */
  async function force(name: string): Promise<void> {
    const { kube } = shop().cluster
    const path = `/apis/chaos.datadoghq.com/v1beta1/namespaces/shop/disruptions/${name}`
    await kube.request('DELETE', path)
    const body = { metadata: { finalizers: null } }
    await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
    await shop().gone(name)
  }

  it('is undone all the same, and its chaos pods say so', async () => {
    const pods = await injected('forced')
    await force('forced')
    await vi.waitFor(async () => {
      const found = (await kubelet.pods()).filter(({ metadata }) =>
        pods.some((pod) => pod.metadata.uid === metadata.uid),
      )
      expect(found.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false])
    }, PATIENT)
    const { items } = await shop().cluster.kube.request<ObjectList>('GET', `/api/v1/namespaces/${DISTURBERS}/events`)
    const told = (items as readonly Told[])
      .filter(({ reason }) => reason === 'Orphaned')
      .map(({ involvedObject }) => involvedObject)
    expect(told).toEqual(
      expect.arrayContaining(pods.map(({ metadata: { uid } }) => expect.objectContaining({ uid }) as unknown)),
    )
    for (const pod of pods) await kubelet.end(pod)
  })

  it('is undone by a worker that was away meanwhile, and lets go of chaos pods whose target is gone', async () => {
    const { pawl } = chaos.tenants
    const pods = await injected('forced-alone')
    await pawl.kill('worker')
    await force('forced-alone')
    await deleteNow('/api/v1/namespaces/shop/pods/forced-alone')
    await pawl.startWorker()
    await allLetGo(pods)
  })
})

describe('a Disruption', () => {
  // X6
  it('is no longer wholly injected when a chaos pod is not ready any more, and is again when that is', async () => {
    const [one, other] = await injected('regress')
    await kubelet.ready(one!, false)
    await shop().until('regress', { injectionStatus: 'PartiallyInjected', injectedTargetsCount: 0 })
    await kubelet.ready(one!)
    await shop().until('regress', { injectionStatus: 'Injected', injectedTargetsCount: 1, runCount: 1 })
    await shop().remove('regress')
    for (const pod of [one!, other!]) await kubelet.end(pod)
    await shop().gone('regress')
  })
})
