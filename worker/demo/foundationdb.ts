// The chapter about FoundationDB: a cluster starts, loses a pod, grows and shrinks, while a client commits transactions.
//
//   D1. After each change the client is as fast as before, and no acknowledged key is lost.
//   D2. Whenever the cluster waits for something else, `pawl why` says what.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { findTools } from '../../activities/foundationdb/database/tools.ts'
import { prepareInDev } from '../../activities/foundationdb/pods/in-dev.ts'
import { writeExecutables } from '../../activities/foundationdb/simulator/bin.ts'
import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { machineOf } from '../dev/release.ts'
import { childEnvironment, readConfig } from '../server/config.ts'
import { inTime } from './in-time.ts'
import { KeyClient } from './key-client.ts'
import { Bars } from './screen.ts'
import { type DemoSet, SIMULATOR_TIMES } from './set.ts'

const run = promisify(execFile)
const PAWL = fileURLToPath(new URL('../pawl.js', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/foundationdb/cluster.yaml', import.meta.url))
const CLUSTERS = { apiVersion: 'apps.foundationdb.org/v1beta2', plural: 'foundationdbclusters' }
const NAMESPACE = 'default'
const NAME = 'sample'
const VERSION = '7.1.67'
const LIMIT_MS = 120_000
const POLL_MS = 200
/** Number of bars for each state. */
const SHOWN = 3

/** Only Linux has all addresses of 127.0.0.0/8 without configuration; each pod gets one. */
export const hasPodAddresses = process.platform === 'linux'

interface Stage {
  readonly set: DemoSet
  readonly kube: KubeClient
}

interface Running extends Stage {
  readonly bars: Bars
  /** Transactions per second before the first change. */
  readonly usual: number
}

interface ClusterStatus {
  readonly connectionString?: string
  readonly generations?: { readonly reconciled?: number }
  readonly health?: { readonly available?: boolean; readonly fullReplication?: boolean }
  readonly conditions?: readonly { readonly status: string; readonly reason?: string; readonly message?: string }[]
}

/** Shows the cluster and returns a line with the result. @throws an Error if a state is not reached, or a key is lost. */
export async function showDatabase(stage: Stage): Promise<string> {
  if (!hasPodAddresses) {
    print('This machine cannot run the pods of a database: they need the addresses 127.0.0.0/8 of Linux.\n')
    return `${NAME}: not started, because this machine cannot run its pods`
  }
  const { set } = stage
  const env = childEnvironment()
  // `pawl dev` has downloaded the release before, or could not.
  const machine = machineOf({ config: { ...readConfig(env), mayDownload: false }, progress: print })
  const { flags, note } = await prepareInDev({ flags: {}, env, folder: set.dataDir, ...machine })
  print(`FoundationDB is ${note}.\n`)
  const simulate = (version: string) => writeExecutables(join(set.dataDir, 'fdb-client'), process.execPath, version)
  const tools = findTools(flags['fdb-bin'], env, flags['fdb-bin'] === undefined ? simulate : undefined)
  const fdbcli = await tools.find('fdbcli', VERSION)

  await kubectl(set, 'apply', '-f', 'examples/foundationdb/cluster.yaml')
  await follow(stage, isReconciled)
  await kubectl(set, 'get', 'fdb', NAME)

  const bars = new Bars(print)
  const settings = {
    fdbcli,
    clusterFile: join(set.dataDir, 'fdb.cluster'),
    connectionString: async () => statusOf(await read(stage)).connectionString ?? '',
    env: SIMULATOR_TIMES,
  }
  print('A client commits 20 keys each second; transactions per second:\n')
  const client = new KeyClient(settings, (transactions) => bars.add(transactions))
  try {
    const usual = Math.max(...(await bars.next(SHOWN + 1)))
    const rates = await change({ ...stage, bars, usual })
    await client.stop()
    const lost = await client.lost()
    if (lost > 0) throw new Error(`${lost} of ${client.acknowledged} acknowledged keys are lost; expected none`)
    print(`all ${client.acknowledged} acknowledged keys are in the database\n`)
    const [replaced, grown, shrunk] = rates
    return `${NAME}: ${usual} transactions a second, ${replaced} after a lost pod, ${grown} with 6 processes, ${shrunk} with 5 again; no key is lost`
  } finally {
    await client.stop()
  }
}

/** Makes the changes and returns the transactions per second after each. */
async function change(running: Running): Promise<readonly number[]> {
  const { set, bars } = running
  const pods = await podsOf(set)
  const [lost = ''] = pods
  await kubectl(set, 'delete', '--wait=false', lost)
  await follow(running, async (cluster) => isReconciled(cluster) && (await isReplaced(set, lost, pods)))
  const replaced = await recovery(running)
  const rates = [replaced]
  for (const storage of [4, 3]) {
    bars.note = ''
    await kubectl(set, 'patch', 'fdb', NAME, '--type=merge', '-p', `{"spec":{"processCounts":{"storage":${storage}}}}`)
    await follow(running, async (cluster) => isReconciled(cluster) && (await podsOf(set)).length === storage + 2)
    rates.push(await recovery(running))
  }
  return rates
}

/**
 * D2. Shows the condition of the cluster whenever it changes, and the first line of `pawl why`, until it is reconciled and the change is done. On a busy
 * machine, the wait may end before `pawl why` has started, so the condition comes first.
 */
async function follow(
  stage: Stage & { readonly bars?: Bars },
  isDone: (cluster: KubeObject) => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + LIMIT_MS
  let shown = ''
  for (;;) {
    const cluster = await read(stage)
    if (await isDone(cluster)) break
    const [{ status, reason = '', message = '' } = { status: '' }] = statusOf(cluster).conditions ?? []
    if (status !== 'True' && message !== shown) {
      shown = message
      print(`condition Reconciled is False: ${reason}: ${message}\n`)
      await why(stage.set)
    }
    if (Date.now() > deadline)
      throw new Error(`cluster "${NAME}" is not reconciled after ${LIMIT_MS / 1000} s: ${message}`)
    await sleep(POLL_MS)
  }
  if (stage.bars !== undefined) stage.bars.note = 'reconciled'
}

async function why({ dataDir }: DemoSet): Promise<void> {
  const { stdout } = await run(process.execPath, [PAWL, 'why', `fdb/${NAME}`, '--data-dir', dataDir])
  const [answer = ''] = stdout.split('\n')
  print(`$ pawl why fdb/${NAME}\n  ${answer}\n`)
}

/** D1 */
async function recovery({ bars, usual }: Running): Promise<number> {
  const first = await inTime(
    'the client is as fast as before',
    LIMIT_MS,
    bars.until((transactions) => transactions > usual / 2),
  )
  return Math.max(first, ...(await bars.next(SHOWN - 1)))
}

/** Whether another pod has the place of the lost one, and all pods run. */
async function isReplaced(set: DemoSet, lost: string, before: readonly string[]): Promise<boolean> {
  const now = await podsOf(
    set,
    '{range .items[*]}pod/{.metadata.name} {.metadata.deletionTimestamp}{.status.phase}{"\\n"}{end}',
  )
  return (
    now.length === before.length &&
    now.every((line) => line.endsWith(' Running')) &&
    now.some((line) => line.startsWith(lost))
  )
}

async function podsOf(set: DemoSet, jsonpath?: string): Promise<readonly string[]> {
  const output = jsonpath === undefined ? 'name' : `jsonpath=${jsonpath}`
  const selector = `foundationdb.org/fdb-cluster-name=${NAME}`
  return (await set.kubectl('get', 'pods', '-n', NAMESPACE, '-l', selector, '-o', output)).trim().split('\n')
}

function isReconciled(cluster: KubeObject): boolean {
  const { generations, health } = statusOf(cluster)
  const isCurrent = generations?.reconciled === cluster.metadata['generation']
  return isCurrent && health?.available === true && health.fullReplication === true
}

async function read({ kube }: Stage): Promise<KubeObject> {
  return await kube.request<KubeObject>('GET', resourcePath(CLUSTERS, NAMESPACE, NAME))
}

function statusOf(cluster: KubeObject): ClusterStatus {
  return cluster['status'] ?? {}
}

async function kubectl(set: DemoSet, ...args: readonly string[]): Promise<void> {
  print(`$ kubectl ${args.map((arg) => (/[{}"]/.test(arg) ? `'${arg}'` : arg)).join(' ')}\n`)
  print(await set.kubectl('-n', NAMESPACE, ...args.map((arg) => (arg.startsWith('examples/') ? EXAMPLE : arg))))
}

function print(text: string): void {
  process.stdout.write(text)
}
