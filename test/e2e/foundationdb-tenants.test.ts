// Two namespaces have a FoundationDBCluster of the same name: one changes, moves and is upgraded while a client writes, and the other one notices nothing. A
// hostile tenant gets nothing of either.

import { request } from 'node:http'
import { afterAll, describe, expect, it, vi } from 'vitest'

import { SIDECAR_PORT } from '../../activities/foundationdb/pod-client/sidecar-client.ts'
import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { GROUP, VERSION } from '../../workflows/foundationdb/contract.ts'
import { PATIENCE, TEST_LIMIT } from '../support/foundationdb/backend.ts'
import { useDatabases } from '../support/foundationdb/clusters.ts'
import { HOSTILE_CLUSTERS } from '../support/foundationdb/hostile-specs.ts'
import { KeyWriter } from '../support/foundationdb/key-writer.ts'
import { logTools } from '../support/foundationdb/logged-tools.ts'

const [OLD, NEW] = ['7.1.67', '7.3.63'] as const
const tools = logTools([OLD, NEW])
const databases = useDatabases('foundationdb-tenants', ['shop', 'rival'], tools.folder)
const shop = () => databases.of('shop')
const rival = () => databases.of('rival')
const NAME = 'sample'
const SPEC = {
  version: OLD,
  minimumUptimeSecondsForBounce: 1,
  databaseConfiguration: { redundancy_mode: 'single', logs: 1 },
  processCounts: { storage: 1, log: 1, stateless: 1 },
  faultDomain: { key: 'foundationdb.org/none' },
}
const cluster = (name: string, spec: object = {}) => ({
  apiVersion: `${GROUP}/${VERSION}`,
  kind: 'FoundationDBCluster',
  metadata: { name },
  spec: { ...SPEC, ...spec },
})

let writer: KeyWriter | undefined
/** Of the last cluster that the writer read. */
let running: string = OLD
async function connectionString(): Promise<string> {
  const { status } = await shop().get(NAME)
  running = status?.runningVersion ?? running
  return status?.connectionString ?? ''
}
afterAll(async () => {
  await writer?.stop()
  tools.remove()
})

const uids = (objects: readonly KubeObject[]) => objects.map(({ metadata: { uid } }) => uid).sort()
const pods = async () => await shop().objects('pods', NAME)
const ipOf = (pod: KubeObject) => statusOf(pod).podIP
const restarts = () => tools.commands('kill;')
const untilCommand = async (text: string) =>
  await vi.waitFor(() => expect(tools.commands(text)).not.toEqual([]), { ...PATIENCE, interval: 20 })

interface PodStatus {
  readonly podIP: string
  readonly containerStatuses: readonly { readonly restartCount: number }[]
}
const statusOf = (pod: KubeObject) => pod['status'] as PodStatus

/** What would change if the controller touched the cluster of the neighbour. */
async function traces() {
  const { metadata, spec, status } = await rival().get(NAME)
  const found = await rival().objects('pods', NAME)
  const restarts = found.map((pod) => statusOf(pod).containerStatuses.map(({ restartCount }) => restartCount))
  return [metadata['generation'], spec, status?.connectionString, uids(found), restarts]
}

/** Whether the sidecar of the Pod has the file. */
async function hasFile(pod: KubeObject, file: string): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    request({ host: ipOf(pod), port: SIDECAR_PORT, path: `/is_present/${file}` }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
      .once('error', reject)
      .end()
  })
}

describe('a FoundationDBCluster next to one of the same name in another namespace', () => {
  let neighbour: unknown

  it('has its own database', TEST_LIMIT, async () => {
    await Promise.all([shop().create(cluster(NAME)), rival().create(cluster(NAME))])
    const [one, other] = await Promise.all([shop().untilReconciled(NAME), rival().untilReconciled(NAME)])
    expect(one.status?.connectionString).not.toBe(other.status?.connectionString)
    expect([(await pods()).length, (await rival().objects('pods', NAME)).length]).toEqual([3, 3])
    writer = new KeyWriter(() => tools.fdbcli(running), connectionString)
    neighbour = await traces()
  })

  it(
    'F13: restarts all processes at once for a knob and recreates no Pod, although the worker is killed meanwhile',
    TEST_LIMIT,
    async () => {
      const before = await pods()
      await shop().patch(NAME, { processes: { general: { customParameters: ['knob_min_trace_severity=20'] } } })
      await untilCommand('kill;')
      await databases.tenants.pawl.kill('worker')
      await databases.tenants.pawl.startWorker()
      await shop().untilReconciled(NAME)
      // The result of the command is lost: it runs again if the next worker still finds the old command lines.
      expect(restarts().length).toBeLessThanOrEqual(2)
      for (const kill of restarts()) for (const pod of before) expect(kill).toContain(` ${ipOf(pod)}:4501`)
      expect(uids(await pods())).toEqual(uids(before))
    },
  )

  it('F8, F30: replaces its only coordinator, after the data and the coordinator have moved', TEST_LIMIT, async () => {
    const before = restarts()
    const { status } = await shop().get(NAME)
    const isCoordinator = (addresses: readonly string[] = []) =>
      addresses.some((address) => status?.connectionString?.includes(`@${address}:`))
    const { processGroupID: id = '' } = status?.processGroups?.find(({ addresses }) => isCoordinator(addresses)) ?? {}
    await shop().patch(NAME, { processGroupsToRemove: [id] })
    await untilCommand('exclude no_wait')
    // The replacement comes first.
    expect(await pods()).toHaveLength(4)
    await untilCommand('include')
    await vi.waitFor(async () => {
      const { status: after } = await shop().get(NAME)
      expect(after?.processGroups?.map(({ processGroupID }) => processGroupID)).not.toContain(id)
    }, PATIENCE)
    const after = await shop().untilReconciled(NAME)
    expect(after.status?.connectionString).not.toBe(status?.connectionString)
    expect(tools.commands('--exec coordinators')).toHaveLength(1)
    const claims = await shop().objects('persistentvolumeclaims', NAME)
    expect(claims.map(({ metadata: { name } }) => name)).not.toContain(`${NAME}-${id}-data`)
    expect([(await pods()).length, claims.length]).toEqual([3, 2])
    expect(restarts()).toEqual(before)
  })

  it(
    'F42, F43: is upgraded by one double kill after all Pods have the program, and when the user ignores an old client',
    TEST_LIMIT,
    async () => {
      const [before, earlier] = [await pods(), restarts()]
      // The writer is a client of the old version. The database has forgotten clients from before its last recovery.
      const known = writer!.acknowledged.length
      await vi.waitFor(() => expect(writer!.acknowledged.length).toBeGreaterThan(known + 1), PATIENCE)
      await shop().patch(NAME, { version: NEW })
      await vi.waitFor(async () => {
        const [condition] = (await shop().get(NAME)).status?.conditions ?? []
        expect(condition?.message).toContain(`clients do not support version ${NEW}`)
      }, PATIENCE)
      expect(restarts()).toEqual(earlier)
      await shop().patch(NAME, { ignoreUpgradabilityChecks: true })
      const once = earlier.length + 1
      await vi.waitFor(() => expect(restarts()).toHaveLength(once), { ...PATIENCE, interval: 20 })
      const atKill = await pods()
      expect(uids(atKill)).toEqual(uids(before))
      expect(await Promise.all(atKill.map((pod) => hasFile(pod, `bin/${NEW}/fdbserver`)))).toEqual([true, true, true])
      const kill = `kill ${atKill
        .map((pod) => `${ipOf(pod)}:4501`)
        .sort()
        .join(' ')}`
      expect(restarts().at(-1)).toContain(`--exec kill; ${kill}; sleep 1; ${kill}; sleep 5 `)
      const { status } = await shop().untilReconciled(NAME)
      expect(status?.runningVersion).toBe(NEW)
      const after = await pods()
      expect(after).toHaveLength(3)
      expect(uids(after).filter((uid) => uids(before).includes(uid))).toEqual([])
      expect(JSON.stringify(after.map(({ spec }) => spec))).not.toContain(OLD)
      expect(restarts()).toHaveLength(once)
    },
  )

  it('keeps all keys that it has acknowledged, and its neighbour noticed nothing', TEST_LIMIT, async () => {
    await writer!.stop()
    const { acknowledged } = writer!
    expect(acknowledged.length).toBeGreaterThan(20)
    const found = new Set(await writer!.readAll())
    expect(acknowledged.filter((number) => !found.has(number))).toEqual([])
    expect(await traces()).toEqual(neighbour)
  })
})

describe('a hostile tenant, where no webhook runs,', () => {
  it.each(HOSTILE_CLUSTERS)('gets a reason and no object for %s', TEST_LIMIT, async (title, field, spec) => {
    const name = title.toLowerCase().replaceAll(' ', '-')
    await rival().create(cluster(name, spec))
    await vi.waitFor(async () => {
      const [condition] = (await rival().get(name)).status?.conditions ?? []
      expect(condition).toMatchObject({ type: 'Reconciled', status: 'False', reason: 'ValidateSpec' })
      expect(condition?.message).toContain(`${field}: found `)
      const query = { fieldSelector: `type=Warning,involvedObject.name=${name}` }
      const { items } = await rival().cluster.kube.request<ObjectList>('GET', rival().path('events'), { query })
      expect(items).toMatchObject([{ reason: 'ValidateSpec', message: expect.stringContaining(field) as string }])
    }, PATIENCE)
    for (const plural of ['pods', 'persistentvolumeclaims', 'configmaps', 'services'])
      expect(await rival().objects(plural, name)).toEqual([])
  })

  it('reads nothing of a database when it knows the coordinators but not the ID', TEST_LIMIT, async () => {
    const { status } = await shop().get(NAME)
    const seedConnectionString = (status?.connectionString ?? '').replace(/:\w+@/, ':guessed@')
    const processCounts = { storage: 1, log: -1, stateless: -1 }
    await rival().create(cluster('guest', { version: NEW, seedConnectionString, processCounts }))
    await vi.waitFor(async () => {
      const [condition] = (await rival().get('guest')).status?.conditions ?? []
      expect(condition?.message).toContain('the database ')
    }, PATIENCE)
    const guest = (await rival().get('guest')).status
    expect([guest?.databaseConfiguration, guest?.configured, guest?.health?.available]).toEqual([
      undefined,
      undefined,
      false,
    ])
    expect((await shop().get(NAME)).status?.connectionString).toBe(status?.connectionString)
  })
})
