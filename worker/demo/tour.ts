// The tour: shows Pawl with kubectl on real servers. Each chapter states its expectation and fails if it is not met.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { createKubeClient, type KubeClient } from '../../activities/kube/client.ts'
import { disturb } from './chaos.ts'
import { hasPodAddresses, showDatabase } from './foundationdb.ts'
import { liveLines } from './screen.ts'
import { startSet, type DemoSet } from './set.ts'
import { type Ability, abilityHere } from './shop-processes.ts'
import { draw, isFinished, readTree, type Node } from './tree.ts'

const POLL_MS = 100
const JOB_LIMIT_MS = 60_000
const NAMESPACE = 'default'
const DEPLOYED_BY = 'manifest.deployer.landscaper.gardener.cloud/deployitem'
const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

interface Tour {
  readonly set: DemoSet
  readonly kube: KubeClient
  readonly results: string[]
  readonly ability: Ability
}

class Interrupted extends Error {
  constructor(name: string) {
    super(`stopped by ${name}`)
  }
}

async function main(keep: boolean): Promise<number> {
  say('Starting real servers: etcd, Kubernetes, PostgreSQL, Temporal, and Pawl')
  const started = Date.now()
  const ability = abilityHere()
  const interrupted = new Promise<never>((_resolve, reject) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => reject(new Interrupted(name)))
  })
  const wings = [
    'landscaper',
    ...(ability.can === 'nothing' ? [] : ['chaos']),
    ...(hasPodAddresses ? ['foundationdb'] : []),
  ]
  const set = await startSet(wings, interrupted)
  const kube = createKubeClient({ kubeconfigPath: set.kubeconfig, userAgent: 'pawl-demo' })
  try {
    showPlaces(set)
    if (!keep) process.stdout.write('  (until the tour ends; `npm run demo -- --keep` lets them run)\n')
    const results: string[] = [`servers were ready after ${seconds(started)}`]
    const death = set.ended.then(() => Promise.reject(new Error('the servers ended; expected them to run')))
    await Promise.race([tour({ set, kube, results, ability }), interrupted, death])
    summarise(results)
    if (keep) {
      showPlaces(set)
      say('All servers keep running; Ctrl-C stops them')
      await Promise.race([interrupted, death])
    }
    return 0
  } catch (error) {
    if (error instanceof Interrupted) return keep ? 0 : 130
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  } finally {
    await kube.close()
    process.stdout.write('stopping the servers\n')
    await set.stop()
  }
}

async function tour(tour: Tour): Promise<void> {
  say('1. A diamond: network, then database and cache, then app')
  await apply(tour, 'diamond.yaml')
  await expectPhase(tour, 'diamond', 'Succeeded')
  const address = await tour.set.kubectl('get', 'dataobject', 'diamond-address', '-o', 'jsonpath={.data}')
  process.stdout.write(`exported: DataObject diamond-address = ${address}\n`)

  say('2. A failing branch: items that depend on it never start')
  await apply(tour, 'failing-branch.yaml')
  showErrors(await expectPhase(tour, 'failing-branch', 'Failed'))

  say('3. A cycle: items outside the cycle run, then the error names the path')
  await apply(tour, 'cycle.yaml')
  const cycle = await expectPhase(tour, 'cycle', 'Failed')
  expectCycle(cycle, tour.results)

  say('4. A second job: an annotation requests it')
  const before = await readTree(tour.kube, NAMESPACE, 'diamond')
  await kubectl(tour, 'annotate', 'installation', 'diamond', 'landscaper.gardener.cloud/operation=reconcile')
  await expectPhase(tour, 'diamond', 'Succeeded', before?.status.jobID)

  say('5. Deletion, in reverse order: app, then cache and database, then network')
  await kubectl(tour, 'delete', 'installation', 'diamond', '--wait=false')
  await expectGone(tour, 'diamond')

  say('6. A real application: objects on a cluster, the database before the app, ready when its pods run')
  await apply(tour, 'manifest.yaml')
  await expectPhase(tour, 'bookshop', 'Succeeded')
  await kubectl(tour, 'get', 'deployments,services', '-l', DEPLOYED_BY)
  const shop = await tour.set.kubectl('get', 'dataobject', 'bookshop-address', '-o', 'jsonpath={.data}')
  process.stdout.write(`exported: DataObject bookshop-address = ${shop}\n`)

  say('7. Chaos: a shop is disturbed on purpose for some seconds, then everything is clean again')
  tour.results.push(await disturb(tour, tour.ability))

  say('8. A database: FoundationDB loses a pod, grows and shrinks, while a client commits transactions')
  tour.results.push(await showDatabase(tour))
}

async function apply(tour: Tour, file: string): Promise<void> {
  process.stdout.write(`$ kubectl apply -f examples/${file}\n`)
  process.stdout.write(await tour.set.kubectl('apply', '-n', NAMESPACE, '-f', `${EXAMPLES}${file}`))
}

async function kubectl(tour: Tour, ...args: readonly string[]): Promise<void> {
  process.stdout.write(`$ kubectl ${args.join(' ')}\n`)
  process.stdout.write(await tour.set.kubectl('-n', NAMESPACE, ...args))
}

/** Shows the tree until its job has ended. @throws an Error if the phase differs or the time is over. */
async function expectPhase(tour: Tour, name: string, phase: string, earlierJob?: string): Promise<Node> {
  const started = Date.now()
  const tree = await follow(tour, name, (node) => node !== undefined && isFinished(node, earlierJob))
  const found = tree?.status.phase
  if (tree === undefined || found !== phase)
    throw new Error(`installation "${name}" ended as ${found ?? 'gone'}; expected ${phase}`)
  tour.results.push(`${name}: ${phase}${earlierJob === undefined ? '' : ' again'} after ${seconds(started)}`)
  return tree
}

async function expectGone(tour: Tour, name: string): Promise<void> {
  const started = Date.now()
  await follow(tour, name, (node) => node === undefined)
  const left = await tour.set.kubectl(
    'get',
    'deployitems',
    '-n',
    NAMESPACE,
    '-l',
    `execution.landscaper.gardener.cloud/managed-by=${name}`,
    '-o',
    'name',
  )
  if (left !== '') throw new Error(`deploy items still exist: ${left.trim()}; expected none`)
  tour.results.push(`${name}: deleted after ${seconds(started)}, with all its items`)
}

async function follow(
  { kube }: Tour,
  name: string,
  isOver: (node: Node | undefined) => boolean,
): Promise<Node | undefined> {
  const screen = liveLines(process.stdout)
  const deadline = Date.now() + JOB_LIMIT_MS
  for (;;) {
    const tree = await readTree(kube, NAMESPACE, name)
    screen.update(tree === undefined ? [] : draw(tree))
    if (isOver(tree)) {
      screen.end()
      return tree
    }
    if (Date.now() > deadline)
      throw new Error(`installation "${name}" did not finish in ${JOB_LIMIT_MS / 1000} s; see the worker's log`)
    await sleep(POLL_MS)
  }
}

/** Prints the errors from the root down. */
function showErrors({ kind, name, status, children }: Node): void {
  if (status.lastError !== undefined) process.stdout.write(`why: ${kind} ${name}: ${status.lastError.message}\n`)
  for (const child of children) showErrors(child)
}

function expectCycle(tree: Node, results: string[]): void {
  const messages = [tree, ...tree.children].map(({ status }) => status.lastError?.message ?? '')
  const path = messages.map((message) => /\S+(?: -> [^\s;]+)+/.exec(message)?.[0]).find((found) => found !== undefined)
  if (path === undefined)
    throw new Error(`no lastError of ${tree.name} holds a path such as a -> b -> a: ${messages.join(' | ')}`)
  process.stdout.write(`the cycle: ${path}\n`)
  results.push(`cycle found: ${path}`)
}

function summarise(results: readonly string[]): void {
  say('What happened')
  for (const result of results) process.stdout.write(`  ${result}\n`)
}

function showPlaces(set: DemoSet): void {
  say('Where to look')
  process.stdout.write(`  jobs in Temporal's UI: ${set.temporalUi}/namespaces/default/workflows\n`)
  process.stdout.write(`  export KUBECONFIG=${set.kubeconfig}\n  export PATH=${set.dataDir}/bin:$PATH\n`)
  process.stdout.write(`  kubectl get inst,exec,di\n  npx pawl why inst/failing-branch --data-dir ${set.dataDir}\n`)
  process.stdout.write(`  the same by a token of Kubernetes alone: npx pawl get inst --api-url ${set.api}\n`)
}

function say(title: string): void {
  process.stdout.write(`\n${title}\n`)
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`
}

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })
try {
  process.exitCode = await main(values.keep)
} catch (error) {
  // The servers did not start.
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof Interrupted ? 130 : 1
}
