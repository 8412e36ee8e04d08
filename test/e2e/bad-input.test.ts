// Mistakes of users in Installations, Executions, configurations of deployers, Targets, and exports of external
// deployers: each job fails with an error that names the mistake, succeeds after the fix, and disturbs no other job.
// Source: spec/landscaper.md 1.3, 1.5, 2.3 "Init", 2.7-2.9, 3, 4.2, 4.6, 5.3.

import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { API, execution, item, type LsObject } from '../support/cluster/cluster.ts'
import {
  BOMB,
  configurationProblem,
  type ExpectedFailure,
  expectFailure,
  fixBlueprint,
  loggedProblems,
  Neighbour,
} from '../support/landscaper/bad-input.ts'
import { BAD_INSTALLATIONS, items, OUT_OF_BOUNDS } from '../support/landscaper/bad-installations.ts'
import { BAD_TARGETS, type KubeconfigCluster } from '../support/landscaper/bad-targets.ts'
import { dataObject, importingInstallation, secret } from '../support/landscaper/imports.ts'
import { configMap, createTarget, manifestItem, TARGET_TYPE, trigger } from '../support/landscaper/manifests.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'bad-input'
/** References to objects of other namespaces. */
const ELSEWHERE = [
  {
    title: 'a DataObject in another namespace',
    root: importingInstallation('elsewhere-data', { imports: [{ name: 'size', dataRef: '../default/size' }] }),
    ending: { reason: 'ImportNotFound', says: ['spec.imports.data[0] "size"'] },
  },
  {
    title: 'with a target in another namespace',
    root: items({ ...item({ name: 'a' }), target: { name: 'a', namespace: 'kube-system' } })('elsewhere-target'),
    ending: configurationProblem(
      'deployItems[0].target: found a target in namespace "kube-system"; expected namespace "bad-input"',
    ),
  },
]
const FOREIGN = 'example.org/foreign'
const stage = useStage(NAMESPACE)
let neighbour: Neighbour
beforeAll(async () => {
  await createTarget(stage.cluster)
  neighbour = await Neighbour.start(stage.cluster)
})

describe.concurrent('an installation that cannot be rendered', () => {
  // A template that reaches a limit occupies a thread for up to ten seconds.
  const isExpensive = ({ ending }: (typeof BAD_INSTALLATIONS)[number]) => ending.says.includes(OUT_OF_BOUNDS)
  const rows = [
    ...ELSEWHERE,
    ...BAD_INSTALLATIONS.filter((row) => !isExpensive(row)),
    ...sampleOf('templates that reach a limit', BAD_INSTALLATIONS.filter(isExpensive), 2),
  ]

  // All rows run at the same time, so that each of them could disturb all others.
  beforeAll(async () => {
    const { cluster } = stage
    await cluster.create(secret('bombs', { bomb: BOMB }), 'secrets')
    await cluster.create(secret('quotes', { quotes: `'${'"'.repeat(900_000)}'` }), 'secrets')
    for (const name of ['noise-1', 'noise-2']) {
      await cluster.create(dataObject(name, randomBytes(900_000).toString('base64')), 'dataobjects')
    }
    await cluster.create(dataObject('size', 5), 'dataobjects')
    await Promise.all(rows.map(({ root }) => cluster.create(root, 'installations')))
  })

  it.each(rows)(
    'for $title fails, says why, and succeeds once it is mended',
    async ({ root, ending }) => {
      const { cluster } = stage
      const { name } = root.metadata
      // Templates that loop or fill memory share few threads for ten seconds each. On a busy machine an activity may time out before its template runs.
      const failed = await cluster.waitUntilFinished(name, undefined, 'installations', 2 * 90_000)
      const mended = await fixBlueprint(cluster, failed)
      expect(mended.status).toMatchObject({ phase: 'Succeeded' })
      expect(mended.status?.lastError).toBeUndefined()
      expectFailure(failed, ending)
    },
    300_000,
  )
})

/** Creates an Execution with this spec and starts a job. @returns the Execution after the end of the job. */
async function run(name: string, spec: object): Promise<LsObject> {
  const { cluster } = stage
  await cluster.create({ apiVersion: API, kind: 'Execution', metadata: { name }, spec }, 'executions')
  await trigger(cluster, name, `${name}-1`)
  const done = await cluster.waitUntilFinished(name, undefined, 'executions')
  return done
}

/** Replaces the items of an Execution and starts another job. @returns the Execution after the end of the job. */
async function again(name: string, deployItems: readonly object[]): Promise<LsObject> {
  await stage.cluster.patch('executions', name, { spec: { deployItems, deployItemsCompressed: null } })
  await trigger(stage.cluster, name, `${name}-2`)
  return await stage.cluster.waitUntilFinished(name, `${name}-1`, 'executions')
}

const packed = (items: unknown) => ({ deployItemsCompressed: gzipSync(JSON.stringify(items)).toString('base64') })
const plain = (...list: readonly object[]) => ({
  deployItems: list.map((more) => ({ ...item({ name: 'a' }), ...more })),
})
const wrong = (...says: ExpectedFailure['says']): ExpectedFailure => ({ reason: 'ERR_CONFIGURATION_PROBLEM', says })
const unfit = (...says: ExpectedFailure['says']): ExpectedFailure => ({ reason: 'InvalidDeployItems', says })

const EXECUTIONS: readonly (readonly [string, object, ExpectedFailure])[] = [
  ['a name that is no label', plain({ name: 'A b' }), unfit('deploy item "A b": name: found invalid characters')],
  ['a target without a name', plain({ target: { name: '' } }), unfit('deploy item "a": target.name: found nothing')],
  [
    'many mistakes',
    plain(...Array.from({ length: 200 }, (_, n) => ({ name: `a ${n}` }))),
    unfit('a 0', 'and 180 more'),
  ],
  [
    'a map for items',
    packed({ a: item({ name: 'a' }) }),
    wrong('holds JSON of another shape', 'expected a gzipped JSON list'),
  ],
  [
    'a bomb',
    { deployItemsCompressed: gzipSync(Buffer.alloc(200_000_000)).toString('base64') },
    wrong('more than 33554432 bytes when unpacked'),
  ],
]

describe.concurrent('an execution written by hand', () => {
  it.each(sampleOf('mistakes in executions', EXECUTIONS, 3))(
    'fails for %s, says why, and succeeds once it is mended',
    async (title, spec, ending) => {
      const name = `hand-${title.replaceAll(' ', '-').toLowerCase()}`
      const failed = await run(name, spec)
      expect((await again(name, [item({ name: 'mended' })])).status).toMatchObject({ phase: 'Succeeded' })
      expectFailure(failed, ending)
    },
  )

  it('may be without any time-out', async () => {
    expect((await run('no-timeout', plain({ timeout: 'none' }))).status).toMatchObject({ phase: 'Succeeded' })
  })
})

const invalid = (...says: ExpectedFailure['says']): ExpectedFailure => ({
  reason: 'InvalidConfiguration',
  says,
  codes: ['ERR_CONFIGURATION_PROBLEM'],
})
const good = configMap('fine', NAMESPACE)
const one = (manifest: object) => ({
  ...manifestItem({ name: 'a', manifests: [] }).config,
  manifests: [{ manifest }],
})

const CONFIGURATIONS: readonly [title: string, config: object, ending: ExpectedFailure, timeout?: string][] = [
  [
    'a manifest whose name is a path',
    one(configMap('../../x', NAMESPACE)),
    invalid('manifests[0].manifest.metadata.name'),
  ],
  [
    'a manifest without a namespace',
    one({ ...good, metadata: { name: 'x' } }),
    { reason: 'InvalidConfiguration', says: ['ConfigMap "x"', 'namespace'] },
  ],
  [
    'a manifest whose labels are none',
    one({ ...good, metadata: { ...good.metadata, labels: { 'a b': 'c' } } }),
    { reason: 'Invalid', says: ['ConfigMap', 'metadata.labels'] },
  ],
  [
    'a manifest with a number for a text',
    one(configMap('x', NAMESPACE, { a: 5 } as never)),
    { reason: 'BadRequest', says: ['ConfigMap "bad-input/x"'] },
  ],
  [
    'a manifest that is too large',
    one(configMap('x', NAMESPACE, { a: 'x'.repeat(1_200_000) })),
    { reason: 'Invalid', says: ['ConfigMap "bad-input/x"', 'the whole: Too long: may not be more than 1048576 bytes'] },
  ],
  [
    'a kind that nobody serves',
    one({ ...good, kind: 'Unknown' }),
    { reason: 'ProgressingTimeout', says: ['does not serve kind "Unknown" of v1'] },
    '6s',
  ],
  [
    'a namespace that is not ours',
    one(configMap('x', 'default')),
    { reason: 'ProgressingTimeout', says: ['ConfigMap "default/x"', '403 Forbidden'] },
    '6s',
  ],
  [
    'objects that are forbidden',
    one({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x', namespace: NAMESPACE } }),
    { reason: 'ProgressingTimeout', says: ['Namespace "bad-input/x"', '403 Forbidden'] },
    '6s',
  ],
]

async function itemOf(name: string, what = 'a'): Promise<LsObject | undefined> {
  return (await stage.cluster.items(name)).get(what)
}

describe.concurrent('an item of manifests', () => {
  it.for(sampleOf('mistakes in manifest items', CONFIGURATIONS, 4))(
    'fails for %s, says why, and succeeds once it is mended',
    async ([title, config, ending, timeout]) => {
      const name = `config-${title.replaceAll(/[^a-zA-Z]+/g, '-').toLowerCase()}`
      const manifest = manifestItem({ name: 'a', manifests: [configMap(name, NAMESPACE)] })
      await run(name, { deployItems: [{ ...manifest, config, ...(timeout !== undefined && { timeout }) }] })
      const failed = await itemOf(name)
      const mended = await again(name, [manifest])
      expect(mended.status, JSON.stringify((await itemOf(name))?.status)).toMatchObject({ phase: 'Succeeded' })
      expectFailure(failed, ending)
    },
  )
})

describe.concurrent('a target', () => {
  let cluster: KubeconfigCluster
  beforeAll(async () => {
    const own = parse(await readFile(stage.servers.kubeconfigPath, 'utf8')) as {
      clusters: { cluster: KubeconfigCluster }[]
    }
    cluster = own.clusters[0]!.cluster
    const stringData = { bomb: BOMB }
    await stage.cluster.create(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kubeconfigs' }, stringData },
      'secrets',
    )
  })

  it.for(sampleOf('mistakes in targets', BAD_TARGETS, 5))(
    '%s fails its items, says why, and serves them once it is mended',
    async ([title, spec, ending, timeout]) => {
      const name = `target-${title.replaceAll(' ', '-').toLowerCase()}`
      await stage.cluster.create(
        { apiVersion: API, kind: 'Target', metadata: { name }, spec: spec(cluster) },
        'targets',
      )
      const deployItem = manifestItem({
        name: 'a',
        target: name,
        manifests: [configMap(name, NAMESPACE)],
        ...(timeout !== undefined && { timeout }),
      })
      await run(name, { deployItems: [deployItem] })
      const failed = await itemOf(name)
      const config = { kubeconfig: null, selfConfig: { serviceAccount: { name: 'here' } } }
      await stage.cluster.patch('targets', name, { spec: { type: TARGET_TYPE, config, secretRef: null } })
      const mended = await again(name, [deployItem])
      expect(mended.status, JSON.stringify((await itemOf(name))?.status)).toMatchObject({ phase: 'Succeeded' })
      expectFailure(failed, ending)
    },
  )
})

const EXPORTS: readonly (readonly [string, object | string | undefined, ExpectedFailure])[] = [
  [
    'that is in another namespace',
    { name: 'kubeconfigs', namespace: 'kube-system' },
    wrong('deploy item "a": status.exportRef.namespace: found "kube-system"; expected "bad-input"'),
  ],
  ['that is not there', undefined, wrong('deploy item "a": status.exportRef: Secret "bad-input/', 'does not exist')],
  ['that is no YAML', '[1', wrong('deploy item "a": key "config" of Secret "bad-input/', 'not a YAML map')],
  ['that is a bomb of aliases', BOMB, wrong('deploy item "a": key "config" of Secret "bad-input/', 'not a YAML map')],
]

describe.concurrent("an export of somebody else's deployer", () => {
  it.each(sampleOf('mistakes in exports of external deployers', EXPORTS, 2))(
    '%s fails the execution, and a good one mends it',
    async (title, given, ending) => {
      const { cluster } = stage
      const name = `export-${title.replaceAll(' ', '-').toLowerCase()}`
      await cluster.create(execution(name, [{ name: 'a', type: FOREIGN }]), 'executions')
      const finish = async (job: string, exportRef: object) => {
        await trigger(cluster, name, job)
        const items = await cluster.waitUntilItems(name, ['a'], (one) => one?.status?.jobID === job)
        const status = { phase: 'Succeeded', jobIDFinished: job, exportRef }
        await cluster.patch('deployitems', items.get('a')!.metadata.name, { status }, 'status')
      }
      const secretOf = async (secretName: string, text: string) => {
        const data = { config: Buffer.from(text).toString('base64') }
        await cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName }, data }, 'secrets')
        return { name: secretName }
      }
      await finish(
        'first',
        typeof given === 'object' ? given : given === undefined ? { name } : await secretOf(name, given),
      )
      const failed = await cluster.waitUntilFinished(name, undefined, 'executions')
      // The parser warns of an unknown tag, and its warning would quote the value.
      await finish('second', { ...(await secretOf(`${name}-good`, 'a: !unknown canary')), namespace: NAMESPACE })
      const mended = await cluster.waitUntilFinished(name, 'first', 'executions')
      expect(mended.status).toMatchObject({ phase: 'Succeeded' })
      expectFailure(failed, ending)
    },
  )
})

describe('the worker after all mistakes', () => {
  it('is still the same process, has logged no warning about itself, and has run the jobs of a healthy installation', async () => {
    expect(await neighbour.stop()).toBeGreaterThan(1)
    expect(stage.pawl.child('worker').exitCode).toBeNull()
    expect(loggedProblems(stage.pawl, 'worker')).toEqual([])
    expect(loggedProblems(stage.pawl, 'bridge')).toEqual([])
    expect(stage.pawl.log('worker')).not.toContain('canary')
  })
})
