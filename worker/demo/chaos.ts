// The chapter about chaos: disrupts a pod whose container is a process of this machine, and shows the effect on the
// process's clients.
//
//   C1. The demo waits for each state and shows it; it expects nothing after a fixed time.
//   C2. On a machine without the necessary rights the demo shows a smaller disruption and says why.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import type { KubeClient, KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { Bars } from './screen.ts'
import { inTime } from './in-time.ts'
import type { DemoSet } from './set.ts'
import { type Ability, type Shop, ShopProcesses } from './shop-processes.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/chaos/', import.meta.url))
const DISRUPTIONS = { apiVersion: 'chaos.datadoghq.com/v1beta1', plural: 'disruptions' }
const CHAOS_PODS = '/api/v1/namespaces/chaos-engineering/pods'
const NAMESPACE = 'shop'
const LIMIT_MS = 60_000
const POLL_MS = 200
/** Number of bars for each state. */
const SHOWN = 4

interface Stage {
  readonly set: DemoSet
  readonly kube: KubeClient
}

interface Disturbed extends Stage {
  readonly processes: ShopProcesses
  readonly shop: Shop
  readonly bars: Bars
  /** Pages per second without a disruption. */
  readonly usual: number
}

/**
 * Shows the disruption and returns a line with its result. @throws an Error if the effect differs from the announced
 * one.
 */
export async function disturb(stage: Stage, ability: Ability): Promise<string> {
  if (ability.can === 'nothing') {
    print(
      `This machine cannot run disruptions: ${ability.because}. docs/guides/run-a-disruption.md shows the expected output.\n`,
    )
    return 'shop: not disturbed, because this machine cannot run disruptions'
  }
  if (ability.can === 'kill')
    print(`On this machine the disruption kills the shop instead of slowing it down: ${ability.because}.\n`)
  const processes = new ShopProcesses(ability.can === 'slow down')
  try {
    await openPods(stage)
    const shop = await processes.open()
    await standFor(stage, shop)
    const bars = new Bars(print)
    const where = ability.can === 'slow down' ? ', in a separate network namespace,' : ''
    print(`process ${shop.pid} of this machine${where} represents the container of that pod and receives requests;\n`)
    print('pages per second:\n')
    processes.visit(shop, (pages) => bars.add(pages))
    const usual = Math.max(...(await bars.next(SHOWN)))
    const disturbed = { ...stage, processes, shop, bars, usual }
    return ability.can === 'slow down' ? await slowDown(disturbed) : await kill(disturbed)
  } finally {
    await processes.close()
  }
}

async function openPods({ set }: Stage): Promise<void> {
  await kubectl(set, 'apply', '-f', 'examples/chaos/shop.yaml')
  const wanted = ['deployment/shop', 'deployment/warehouse', '--for=condition=Available']
  await set.kubectl('wait', '-n', NAMESPACE, ...wanted, `--timeout=${LIMIT_MS / 1000}s`)
}

/** Registers the process as the pod's container with the node agent. */
async function standFor({ set }: Stage, { pid }: Shop): Promise<void> {
  const pods = await set.kubectl('get', 'pods', '-n', NAMESPACE, '-l', 'app=shop', '-o', 'name')
  const [pod = ''] = pods.trim().split('\n')
  await kubectl(set, 'annotate', '-n', NAMESPACE, '--overwrite', pod, `pawl.dev/processes={"shop":${pid}}`)
}

async function slowDown(stage: Disturbed): Promise<string> {
  const { set, bars, usual, shop, processes } = stage
  const before = await processes.network(shop)
  await kubectl(set, 'apply', '-f', 'examples/chaos/slow-shop.yaml')
  await follow(stage, 'slow-shop', (object) => statusOf(object) === 'Injected')
  await inTime(
    'the shop gets slow',
    LIMIT_MS,
    bars.until((pages) => pages < usual / 2),
  )
  const slow = Math.max(...(await bars.next(SHOWN)))
  await kubectl(set, 'get', 'disruptions', '-n', NAMESPACE, '-o', 'wide')
  await end(stage, 'slow-shop.yaml', 'slow-shop')
  const again = await recovery(stage)
  const after = await processes.network(shop)
  if (after !== before) throw new Error(`the network of the shop has changed: found\n${after}\nexpected\n${before}`)
  print('clean: its network has the same rules, queues and classes as before, and no chaos pod exists\n')
  return `shop: ${usual} pages a second, ${slow} while it was slowed down, ${again} after it; all is clean`
}

async function kill(stage: Disturbed): Promise<string> {
  const { set, bars, usual, shop, processes } = stage
  await kubectl(set, 'apply', '-f', 'examples/chaos/container-failure.yaml')
  await inTime('the process of the shop is killed', LIMIT_MS, shop.ended)
  print(`process ${shop.pid} was killed\n`)
  await inTime(
    'nobody gets a page',
    LIMIT_MS,
    bars.until((pages) => pages < usual / 2),
  )
  await bars.next(1)
  print('a kubelet would restart it; here the tour restarts it\n')
  await standFor(stage, await processes.open())
  await follow(stage, 'container-failure', (object) => statusOf(object) === 'Injected')
  await kubectl(set, 'get', 'disruptions', '-n', NAMESPACE, '-o', 'wide')
  await end(stage, 'container-failure.yaml', 'container-failure')
  const again = await recovery(stage)
  print('clean: no chaos pod exists\n')
  return `shop: ${usual} pages a second, killed once, ${again} after it; all is clean`
}

async function end(stage: Disturbed, file: string, name: string): Promise<void> {
  await kubectl(stage.set, 'delete', '--wait=false', '-f', `examples/chaos/${file}`)
  await follow(stage, name, (object) => object === undefined)
  const { items } = await stage.kube.request<ObjectList>('GET', CHAOS_PODS)
  if (items.length > 0) throw new Error(`${items.length} chaos pods still exist; expected none`)
}

async function recovery({ bars, usual }: Disturbed): Promise<number> {
  const first = await inTime(
    'the shop is as fast as before',
    LIMIT_MS,
    bars.until((pages) => pages > usual / 2),
  )
  return Math.max(first, ...(await bars.next(SHOWN - 1)))
}

/** Shows the Disruption's state next to the bars until the condition holds. */
async function follow(
  { kube, bars }: Disturbed,
  name: string,
  isSo: (object: KubeObject | undefined) => boolean,
): Promise<void> {
  const deadline = Date.now() + LIMIT_MS
  for (;;) {
    const object = await readDisruption(kube, name)
    bars.note = object === undefined ? '' : noteOf(object)
    if (isSo(object)) return
    if (Date.now() > deadline)
      throw new Error(
        `disruption ${name} is ${object === undefined ? 'gone' : noteOf(object)} after ${LIMIT_MS / 1000} s`,
      )
    await sleep(POLL_MS)
  }
}

async function readDisruption(kube: KubeClient, name: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(DISRUPTIONS, NAMESPACE, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

function noteOf(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined ? (statusOf(object) ?? 'made') : 'being undone'
}

function statusOf(object: KubeObject | undefined): string | undefined {
  return (object?.['status'] as { readonly injectionStatus?: string } | undefined)?.injectionStatus
}

async function kubectl(set: DemoSet, ...args: readonly string[]): Promise<void> {
  print(`$ kubectl ${args.map((arg) => (/[{}"]/.test(arg) ? `'${arg}'` : arg)).join(' ')}\n`)
  print(await set.kubectl(...args.map((arg) => arg.replace(/^examples\/chaos\//, EXAMPLES))))
}

function print(text: string): void {
  process.stdout.write(text)
}
