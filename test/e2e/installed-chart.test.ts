// Pawl as a platform team installs it: the commands of docs/start/install-on-a-cluster.md, with real Helm, on a cluster whose
// pods run the image from a registry: as processes with its root file system, its user and the arguments of the chart.
// Needs root, as a container runtime does, and Python's pip for pg_dump. The tests run in their order, with one release.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { PAWL_VERSION } from '../../worker/server/version.ts'
import { ChartStage, NAMESPACE, UPGRADE_PAGE } from '../support/chart/installed-chart.ts'

const isRoot = process.getuid?.() === 0

let stage: ChartStage

beforeAll(async () => {
  if (isRoot) stage = await ChartStage.start(inject('servers'))
}, 1_200_000)
afterAll(async () => {
  if (isRoot) await stage.stop()
}, 120_000)

interface Pod extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
  readonly status: {
    readonly phase: string
    readonly containerStatuses?: readonly { readonly ready: boolean; readonly restartCount: number }[]
  }
}

async function list(apiVersion: string, plural: string): Promise<readonly KubeObject[]> {
  const path = resourcePath({ apiVersion, plural }, NAMESPACE)
  return (await stage.cluster.kube.request<ObjectList>('GET', path)).items
}

/** The pods that are not being deleted. */
async function podsOf(name: string): Promise<readonly Pod[]> {
  const pods = (await list('v1', 'pods')) as readonly Pod[]
  return pods.filter(({ metadata: { labels, deletionTimestamp } }) => {
    return labels?.['app.kubernetes.io/name'] === `pawl-${name}` && deletionTimestamp === undefined
  })
}

/** `PLURAL/NAME` of all objects of the kinds of the chart, and those of users; names without hashes. */
async function namesOfObjects(): Promise<readonly string[]> {
  const kinds = Object.entries({
    v1: ['pods', 'services', 'serviceaccounts', 'secrets', 'configmaps', 'persistentvolumeclaims'],
    'apps/v1': ['deployments', 'replicasets', 'statefulsets'],
    'batch/v1': ['jobs'],
    'autoscaling/v2': ['horizontalpodautoscalers'],
    'policy/v1': ['poddisruptionbudgets'],
    'networking.k8s.io/v1': ['networkpolicies'],
    'rbac.authorization.k8s.io/v1': ['roles', 'rolebindings'],
  })
  const names = kinds.flatMap(([apiVersion, plurals]) =>
    plurals.map(async (plural) =>
      (await list(apiVersion, plural)).map(({ metadata: { name } }) => `${plural}/${name}`),
    ),
  )
  return (await Promise.all(names))
    .flat()
    .map((name) => name.replace(/-[0-9a-f]{10}$/, ''))
    .sort()
}

async function apply(example: string): Promise<void> {
  await stage.shell(`kubectl apply -f examples/${example}.yaml`)
}

/** Applies an example with another name instead of that of its Installation. */
async function applyAs(name: string, example: string, former: string): Promise<void> {
  await stage.shell(`sed 's/${former}/${name}/g' examples/${example}.yaml | kubectl apply -f -`)
}

/** The resource versions of all objects of these Installations, by `PLURAL/NAME`. */
async function versionsOf(...installations: readonly string[]): Promise<ReadonlyMap<string, string | undefined>> {
  const plurals = ['installations', 'executions', 'deployitems'] as const
  const objects = plurals.map(async (plural) =>
    (await stage.cluster.list(plural))
      .filter(({ metadata: { name } }) => installations.some((one) => name === one || name.startsWith(`${one}-`)))
      .map(({ metadata }) => [`${plural}/${metadata.name}`, metadata.resourceVersion] as const),
  )
  return new Map((await Promise.all(objects)).flat())
}

async function jobOf(name: string): Promise<string | undefined> {
  return (await stage.cluster.get('installations', name))?.status?.jobID
}

async function expectPhase(name: string, phase: string): Promise<void> {
  const phases = async () => (await stage.cluster.get('installations', name))?.status?.phase
  await expect.poll(phases, { timeout: 90_000 }).toBe(phase)
}

/** Ends a job of examples/interrupt.yaml. */
async function interrupt(name: string): Promise<void> {
  await stage.shell(`kubectl annotate installation ${name} landscaper.gardener.cloud/operation=interrupt`)
  await expectPhase(name, 'Failed')
}

describe.skipIf(!isRoot)('a release of the chart', () => {
  it('becomes ready under Pod Security restricted, from the image in the registry', async () => {
    expect(await stage.runSection('Build the image')).toContain(`pushed: ${stage.repository}:${PAWL_VERSION}`)
    await stage.startNode(PAWL_VERSION)
    await stage.runSection('Prepare')
    await stage.shell(`kubectl label namespace ${NAMESPACE} pod-security.kubernetes.io/enforce=restricted`)
    expect(await stage.runSection('Install')).toMatch(/^pawl-worker-\S+ +1\/1 +Running/m)
    for (const name of ['bridge', 'worker']) {
      const [pod] = await podsOf(name)
      expect(pod?.spec.containers[0]?.image).toBe(`${stage.repository}:${PAWL_VERSION}`)
    }
    // The Job of the migrations is a hook, which Helm deletes after its success.
    expect(await list('batch/v1', 'jobs')).toEqual([])
  }, 600_000)

  it('runs a job of an example', async () => {
    expect(await stage.runSection('The first Installation')).toMatch(/^\S+ +\S+mock +.*Succeeded/m)
  })

  it('runs as user 65532, and sees the files of its image and its volumes only', async () => {
    const [pid = 0] = await stage.processesOf('worker')
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m)
    expect(status).toMatch(/^Groups:\s*$/m)
    // The engine's image has no programs of Debian.
    const root = join('/proc', String(pid), 'root')
    expect(await readdir(join(root, 'usr/bin'))).toEqual([])
    expect(await readdir(join(root, 'etc/pawl/keys'))).toContain('content.key')
  })

  it('restarts a worker that is killed, and continues its job', async () => {
    await apply('interrupt')
    await expectPhase('babel', 'Progressing')
    for (const pid of await stage.processesOf('worker')) kill(pid, 'SIGKILL')
    const container = async () => (await podsOf('worker'))[0]?.status.containerStatuses?.[0]
    await expect.poll(container, { timeout: 60_000 }).toMatchObject({ restartCount: 1, ready: true })
    await expectPhase('babel', 'Progressing')
  })

  it('is restored after the loss of its database: continues open jobs, and repeats no finished job', async () => {
    await stage.runSection('Back up')
    await stage.runSection('1. Back up', UPGRADE_PAGE)
    expect(await readFile(join(stage.backup, 'content.key'), 'utf8')).toMatch(/^[0-9a-f]{64}$/)
    // One job starts and ends after the backup, and one starts after it and is open when the database is lost.
    await applyAs('finished', 'diamond', 'diamond')
    await applyAs('nimrod', 'interrupt', 'babel')
    await expectPhase('finished', 'Succeeded')
    await expectPhase('nimrod', 'Progressing')
    const jobs = [await jobOf('babel'), await jobOf('nimrod')]
    const finished = await versionsOf('diamond', 'finished')
    expect(finished.size).toBe(12)

    await stage.dropDatabase()
    await stage.runSection('Restore')
    await expectPhase('babel', 'Progressing')
    await interrupt('babel')
    expect([await jobOf('babel'), await jobOf('nimrod')]).toEqual(jobs)
    expect(await versionsOf('diamond', 'finished')).toEqual(finished)
  })

  it('is upgraded in the middle of jobs, which continue, and rolled back', async () => {
    const revision = async () => (await stage.shell('helm history pawl --namespace pawl --max 1')).split('\n')[1]
    const before = (await podsOf('worker')).map(({ metadata }) => metadata.name)
    await stage.changeValues({ logLevel: 'debug' })
    const upgrade = stage.runSection('Upgrade')
    await apply('failing-branch')
    await upgrade
    expect(await revision()).toMatch(/Rollback to 2$/)
    expect((await podsOf('worker')).map(({ metadata }) => metadata.name)).not.toEqual(before)
    // The commands for Deployments without the chart. The images do not change, so no pod is replaced.
    const replaced = /(?:deployment .* successfully rolled out\n){2}$/
    expect(await stage.runSection('7. Replace the processes in this order', UPGRADE_PAGE)).toMatch(replaced)
    expect(await stage.runSection('Roll back', UPGRADE_PAGE)).toMatch(replaced)
    await expectPhase('failing-branch', 'Failed')
    await interrupt('nimrod')
  })

  it('is denied no request with the roles of the chart', () => {
    expect(stage.deniedRequests()).toEqual([])
  })

  it('is removed, and leaves the Secret', async () => {
    await stage.runSection('Remove')
    const expected = ['configmaps/kube-root-ca.crt', 'secrets/pawl', 'serviceaccounts/default']
    await expect.poll(namesOfObjects, { timeout: 60_000 }).toEqual(expected)
    expect(await stage.processesOf('worker')).toEqual([])
    for (const plural of ['installations', 'executions', 'deployitems'])
      expect(await stage.cluster.list(plural)).toEqual([])
  })
})
