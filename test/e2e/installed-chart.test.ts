// Pawl as a platform team installs it: the commands of docs/start/install-on-a-cluster.md, with real Helm, on a cluster whose
// pods run the image from a registry: as processes with its root file system, its user and the arguments of the chart.
// Needs root, as a container runtime does, and Python's pip for pg_dump. The tests run in their order, with one release.
// With PAWL_FORMER=CHECKOUT, where `npm ci` has run, that release is installed and backed up first, and upgraded to this one.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { ChartStage, NAMESPACE, TRIAL_NAMESPACE, UPGRADE_PAGE } from '../support/chart/installed-chart.ts'
import { loopbackAddress } from '../support/cluster/cluster-network.ts'
import { API } from '../support/cluster/cluster.ts'
import { builtPackage } from '../support/package/built-package.ts'
import { HAS_PROMETHEUS, Prometheus } from '../support/pawl/prometheus.ts'
import { alerts, monitoringQueries } from '../support/pawl/monitoring.ts'
import { selectorsOf } from '../support/pawl/promql.ts'
import { makeAccount } from '../support/rights/accounts.ts'

const isRoot = process.getuid?.() === 0

const PROCESSES = ['api', 'bridge', 'webhook', 'worker']

let stage: ChartStage
/** Of a wing that this release does not have: test/e2e/disruption-workers.test.ts. */
const ELSEWHERE = /^chaos_controller_/
/** Kubeconfig of a user who may read the objects of the namespace. */
let reader: string

beforeAll(async () => {
  if (isRoot) stage = await ChartStage.start(inject('servers'), await builtPackage())
}, 1_200_000)
afterAll(async () => {
  if (isRoot) await stage.stop()
}, 120_000)

interface Pod extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly containerStatuses?: readonly { readonly ready: boolean; readonly restartCount: number }[]
  }
}

async function list(apiVersion: string, plural: string, namespace = NAMESPACE): Promise<readonly KubeObject[]> {
  const path = resourcePath({ apiVersion, plural }, namespace)
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
async function namesOfObjects(namespace: string): Promise<readonly string[]> {
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
      (await list(apiVersion, plural, namespace)).map(({ metadata: { name } }) => `${plural}/${name}`),
    ),
  )
  return (await Promise.all(names))
    .flat()
    .map((name) => name.replace(/-[0-9a-f]{10}$/, ''))
    .sort()
}

const USER_OBJECTS = [
  'configmaps/kube-root-ca.crt',
  'rolebindings/reader',
  'roles/reader',
  'secrets/pawl',
  'secrets/pawl-api',
  'secrets/pawl-api-certificates',
  'serviceaccounts/default',
  'serviceaccounts/reader',
]

/** The roles of a release in the namespace, and the webhook configurations for the namespace. */
async function clusterObjectsOf(namespace: string): Promise<readonly string[]> {
  const plurals = {
    'rbac.authorization.k8s.io/v1': ['clusterroles', 'clusterrolebindings'],
    'admissionregistration.k8s.io/v1': ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
  }
  const paths = Object.entries(plurals).flatMap(([apiVersion, kinds]) =>
    kinds.map((plural) => resourcePath({ apiVersion, plural }, undefined)),
  )
  const lists = await Promise.all(paths.map((path) => stage.cluster.kube.request<ObjectList>('GET', path)))
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name))
  return names.filter((name) => name.startsWith(`${namespace}:`) || name.endsWith(`-webhook-${namespace}`))
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

async function expectWebhook(): Promise<void> {
  // A cycle of sub-installations, which the CRD accepts.
  const one = (name: string, takes: string, gives: string) => {
    const data = (dataRef: string) => ({ data: [{ name: dataRef, dataRef }] })
    return { name, imports: data(takes), exports: data(gives) }
  }
  const filesystem = {
    'blueprint.yaml': JSON.stringify({ subinstallations: [one('a', 'x', 'y'), one('b', 'y', 'x')] }),
  }
  const spec = { blueprint: { inline: { filesystem } } }
  const ring = { apiVersion: API, kind: 'Installation', metadata: { name: 'ring' }, spec }
  const refusal = await stage.cluster.create(ring, 'installations').then(
    () => 'created',
    (error: unknown) => String(error),
  )
  expect(refusal).toMatch(/denied the request: .*spec\.blueprint\.inline: .*(?:a -> b -> a|b -> a -> b)/)
}

async function expectApi(): Promise<void> {
  const service = `PAWL_API_SERVICE=${NAMESPACE}/pawl-api`
  const shown = await stage.shell(`KUBECONFIG=${reader} ${service} node worker/pawl.js get inst -n ${NAMESPACE}`)
  expect(shown).toMatch(/^diamond +Succeeded/m)
}

/** Ends a job of examples/interrupt.yaml. */
async function interrupt(name: string): Promise<void> {
  await stage.shell(`kubectl annotate installation ${name} landscaper.gardener.cloud/operation=interrupt`)
  await expectPhase(name, 'Failed')
}

describe.skipIf(!isRoot)('a release of the chart', () => {
  it('becomes ready under Pod Security restricted, from the image in the registry', async () => {
    expect(await stage.runSection('Build the image')).toContain(`pushed: ${stage.image}`)
    await stage.pullImage()
    await stage.startNode()
    await stage.runSection('Prepare')
    await stage.shell(`kubectl label namespace ${NAMESPACE} pod-security.kubernetes.io/enforce=restricted`)
    await stage.createApiSecrets()
    expect(await stage.runSection('Install')).toMatch(/^pawl-worker-\S+ +1\/1 +Running/m)
    for (const name of PROCESSES) {
      const [pod] = await podsOf(name)
      expect(pod?.spec.containers[0]?.image).toBe(stage.image)
    }
    // The Job of the migrations is a hook, which Helm deletes after its success.
    expect(await list('batch/v1', 'jobs')).toEqual([])
  }, 600_000)

  it('runs a job of an example', async () => {
    expect(await stage.runSection('The first Installation')).toMatch(/^\S+ +\S+mock +.*Succeeded/m)
  })

  it('rejects an invalid Installation: the API server calls the webhook through its Service', expectWebhook)

  it('shows a user its objects: the API server forwards the request to the Service of the journal API', async () => {
    reader = await makeAccount(stage.servers, stage.cluster, 'reader')
    await stage.shell(
      [
        'kubectl create role reader --verb get,list --resource installations.landscaper.gardener.cloud',
        `kubectl create rolebinding reader --role reader --serviceaccount ${NAMESPACE}:reader`,
      ].join('\n'),
    )
    await expectApi()
  })

  it('has the command that shows what happened in the image of the worker', async () => {
    const shown = await stage.execInWorker(/`kubectl -n pawl exec deployment\/pawl-worker -- (.*)`/)
    expect(shown).toMatch(/^Installation pawl\/diamond: Succeeded/m)
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
    await stage.becomeCurrent()
    await stage.changeValues({ logLevel: 'debug' })
    const upgrade = stage.runSection('Upgrade')
    await apply('failing-branch')
    await upgrade
    expect(await revision()).toMatch(/Rollback to 2$/)
    expect((await podsOf('worker')).map(({ metadata }) => metadata.name)).not.toEqual(before)
    // The commands for Deployments without the chart. Without $PAWL_FORMER the images do not change, so no pod is replaced.
    const replaced = /(?:^deployment .* successfully rolled out\n[^]*){4}/m
    expect(await stage.runSection('7. Replace the processes in this order', UPGRADE_PAGE)).toMatch(replaced)
    await applyAs('upgraded', 'diamond', 'diamond')
    await expectPhase('upgraded', 'Succeeded')
    expect(await stage.runSection('Roll back', UPGRADE_PAGE)).toMatch(replaced)
    await expectPhase('failing-branch', 'Failed')
    await interrupt('nimrod')
    await expectWebhook()
    await expectApi()
  })

  it('runs the controllers in an image of the user', async () => {
    // The worker bundles them in a container whose /tmp is an emptyDir, which is not sticky: @swc/core 1.16.12 and newer
    // refuse to unpack their compiler there.
    const roles = 'node worker/pawl.js gen rbac examples/cronjob/controllers.ts --namespace pawl --accounts pawl'
    await stage.shell(
      `kubectl apply --server-side -f examples/cronjob/cron-job.crd.yaml && ${roles} | kubectl apply -f -`,
    )
    await stage.useControllers('examples/cronjob', ['croner'])
    await stage.shell("sed 's/\\* \\* \\* \\* \\*/never/' examples/cronjob/hello.yaml | kubectl apply -f -")
    const reason = `kubectl get cronjobs.batch.example.pawl.dev hello -o jsonpath='{.status.conditions[*].reason}'`
    await expect.poll(async () => await stage.shell(reason)).toContain('InvalidSchedule')
    await stage.shell(`kubectl delete cronjobs.batch.example.pawl.dev hello && ${roles} | kubectl delete -f -`)
  })

  it.skipIf(!HAS_PROMETHEUS)('has the metrics of each alert and each panel, which Prometheus scrapes', async () => {
    const addresses = PROCESSES.map(async (name) => {
      const pods = await podsOf(name)
      return [name, pods.map(({ status: { podIP = '' } }) => `${loopbackAddress(podIP)}:8080`)] as const
    })
    const prometheus = await Prometheus.start(Object.fromEntries(await Promise.all(addresses)))
    onTestFinished(() => prometheus.stop())
    // A worker has series of durations after its first job.
    await stage.shell('kubectl annotate installation diamond landscaper.gardener.cloud/operation=reconcile')
    const counts = monitoringQueries().flatMap(({ from, query, isAlert }) => {
      // An alert that does not fire has no series, but each of its metrics has.
      const queries = isAlert
        ? selectorsOf(query).map(({ text }) => text)
        : [query.replaceAll('$__rate_interval', '5m')]
      return queries.filter((one) => !ELSEWHERE.test(one)).map((one) => ({ from, one }))
    })
    const empty = async () => {
      const found = counts.map(async ({ from, one }) => ((await prometheus.count(one)) > 0 ? [] : [`${from}: ${one}`]))
      return (await Promise.all(found)).flat()
    }
    await expect.poll(empty).toEqual([])
    const rules = await prometheus.rules()
    expect(rules.length).toBe(alerts().length)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  it('is denied no request with the roles of the chart', () => {
    expect(stage.deniedRequests(`${NAMESPACE}:pawl-`)).toEqual([])
  })

  it('is removed, and leaves only the objects of the user', async () => {
    const notes = await stage.shell(`helm get notes pawl --namespace ${NAMESPACE}`)
    await stage.runSection('Remove')
    await stage.shell((notes.match(/kubectl delete .*/g) ?? []).join('\n'))
    await expect.poll(() => namesOfObjects(NAMESPACE), { timeout: 60_000 }).toEqual(USER_OBJECTS)
    for (const name of PROCESSES) expect(await stage.processesOf(name)).toEqual([])
    expect(await clusterObjectsOf(NAMESPACE)).toEqual([])
    for (const plural of ['installations', 'executions', 'deployitems'])
      expect(await stage.cluster.list(plural)).toEqual([])
  })
})

describe.skipIf(!isRoot)(
  'a trial release with its own PostgreSQL and Temporal, and with roles for the whole cluster',
  () => {
    const inTrial = (command: string) => `kubectl --namespace ${TRIAL_NAMESPACE} ${command}`

    it('runs a job of an example in another namespace', async () => {
      await stage.installTrial()
      await stage.shell(
        [
          inTrial('apply -f examples/diamond.yaml'),
          inTrial(`wait installation/diamond --for=jsonpath='{.status.phase}'=Succeeded --timeout=60s`),
        ].join('\n'),
      )
      expect(stage.deniedRequests(`${TRIAL_NAMESPACE}:try-pawl-`)).toEqual([])
    }, 300_000)

    it('is removed, and leaves no object', async () => {
      await stage.shell(
        [inTrial('delete installations --all'), `helm uninstall try --namespace ${TRIAL_NAMESPACE} --wait`].join('\n'),
      )
      const expected = ['configmaps/kube-root-ca.crt', 'serviceaccounts/default']
      await expect.poll(() => namesOfObjects(TRIAL_NAMESPACE), { timeout: 60_000 }).toEqual(expected)
      expect(await clusterObjectsOf(TRIAL_NAMESPACE)).toEqual([])
    })
  },
)
