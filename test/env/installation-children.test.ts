// The objects that the activities of an Installation create, change and read while other clients change objects: its Execution, the copies of its imports,
// its sub-installations and their exports. On an API server that the test controls, with a real journal. Source: spec/landscaper.md 1.15, 2.2, 2.5, 2.11, 3.6.

import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { Database } from '../../activities/journal/database.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { safeLabels } from '../../activities/landscaper/data-objects.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { applySubInstallations } from '../../activities/landscaper/installation/apply-sub-installations.ts'
import { exportsWithin } from '../../activities/landscaper/installation/exports-within.ts'
import { renderInstallation } from '../../activities/landscaper/installation/render-installation.ts'
import { subInstallationName } from '../../activities/landscaper/installation/sub-installation-objects.ts'
import { installationView, subInstallationView } from '../../activities/landscaper/installation/views.ts'
import {
  createTemplateEngine,
  type TemplateEngines,
} from '../../activities/landscaper/render/engine/template-engine.ts'
import { dataLabels, dataObjectName, installationContext } from '../../activities/landscaper/render/names.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { type Request, refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { activitiesOf, landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { API } from '../support/cluster/cluster.ts'
import { dataObject, importingInstallation } from '../support/landscaper/imports.ts'

const ROOT = `/apis/${API}/namespaces/n`
const SUBJECT = { kind: 'Installation', uid: 'uid-root', namespace: 'n', name: 'root' }
const BY = { workflowID: `installation/n/${SUBJECT.name}/${SUBJECT.uid}/job`, runID: 'run', pass: 1 }
const EXECUTION = `${ROOT}/executions/root`
const COPY = `${ROOT}/dataobjects/${dataObjectName(installationContext('root'), 'size')}`
const OPTIONAL = { imports: [{ name: 'size', type: 'data', schema: {}, required: false }] }

const stage = useWriteStage(inject('servers').databaseUrl)
let templates: TemplateEngines
let deps: LandscaperDeps

beforeAll(() => {
  templates = createTemplateEngine({ threads: 1 })
})
afterAll(async () => {
  await templates.close()
})
beforeEach(() => {
  deps = landscaperDeps(stage().deps, { templates })
})

const owner = (name: string) => ({ apiVersion: API, kind: 'Installation', uid: `uid-${name}`, name, controller: true })

function put(path: string, metadata: object, rest: object = {}): KubeObject {
  const [name = '', plural] = path.split('/').reverse()
  const own = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, creationTimestamp: '', ...metadata }
  const kind = plural === 'installations' ? { apiVersion: API, kind: 'Installation' } : {}
  return stage().api.put(path, { ...kind, metadata: own, ...rest })
}
const putInstallation = (name: string, metadata: object = {}, rest: object = { spec: { blueprint: {} } }) =>
  put(`${ROOT}/installations/${name}`, metadata, rest)
const read = (path: string): KubeObject | undefined => stage().api.objects.get(path)
const writes = () => stage().api.requests.filter((request) => !request.startsWith('GET'))

function install(imports: readonly object[]) {
  const { spec } = importingInstallation('root', { imports, blueprint: OPTIONAL })
  return storedAs(installationKind, putInstallation('root', {}, { spec }))
}
const size = (value: number) => stage().api.put(`${ROOT}/dataobjects/size`, dataObject('size', value))

const apply = async (jobID = 'job') =>
  await activitiesOf(deps).applyChildren({ by: BY, subject: SUBJECT, jobID, generation: 1 })
const complete = async (importsHash: string | undefined, jobID = 'job') => {
  const given = { by: BY, subject: SUBJECT, jobID, generation: 1, importsHash, hasItemExports: false }
  return await activitiesOf(deps).writeExports(given)
}
const hashOf = (applied: Awaited<ReturnType<typeof apply>>) =>
  applied.result === 'applied' ? applied.importsHash : undefined

/** The server's lists, which know no selectors: the owner decides. */
function lists({ method, path }: Request) {
  if (method !== 'GET' || !/\/(dataobjects|targets)$/.test(path)) return undefined
  const items = [...stage().api.objects].flatMap(([key, one]) => (key.startsWith(`${path}/`) ? [one] : []))
  return { status: 200, body: { metadata: { resourceVersion: '1' }, items } }
}

describe('an installation whose imports are applied', () => {
  beforeEach(() => {
    stage().api.intercept = lists
    install([{ name: 'size', dataRef: 'size' }])
    size(1)
  })

  it('is rendered without a write', async () => {
    const installation = install([{ name: 'size', dataRef: 'size' }])
    expect(await renderInstallation(deps, SUBJECT, { installation, jobID: 'job' })).toMatchObject({
      imports: { data: { size: 1 }, hash: expect.stringMatching(/^[0-9a-f]{40}$/) as string },
      execution: { spec: { context: 'default' }, hasItems: true },
      states: { loaded: {}, rendered: {} },
    })
    expect(writes()).toEqual([])
  })

  it('is rendered again when an import changes before the activity ends', async () => {
    stage().api.intercept = (request) => {
      if (request.method === 'POST' && request.path.endsWith('/executions')) size(2)
      return lists(request)
    }
    await expect(apply()).rejects.toMatchObject({ type: 'Changed' })
    expect(read(COPY)?.['data']).toBe(1)
    stage().api.intercept = lists
    expect(await apply()).toMatchObject({ result: 'applied' })
    expect(read(COPY)?.['data']).toBe(2)
  })

  it('gets a refused result, not an error, when an import is missing', async () => {
    stage().api.objects.delete(`${ROOT}/dataobjects/size`)
    expect(await apply()).toMatchObject({ result: 'refused', code: 'ImportNotFound' })
    expect(writes()).toEqual([])
  })

  it('is retried while the API server answers with 503', async () => {
    stage().api.intercept = ({ path }) => (path.endsWith('/size') ? refusal(503, 'ServiceUnavailable') : undefined)
    await expect(apply()).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
    await expect(complete('any')).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
  })

  it('keeps correct copies of an earlier job unchanged, and repairs a copy that a user has edited', async () => {
    const first = await apply('job-1')
    const before = writes().length
    const kept = read(COPY)
    expect(await apply('job-2')).toEqual(first)
    expect([writes().length, read(COPY)]).toEqual([before, kept])
    stage().api.put(COPY, { ...kept, metadata: kept?.metadata ?? { name: '' }, data: 'by hand' })
    await apply('job-2')
    const labels = { 'data.landscaper.gardener.cloud/jobid': 'job-2' }
    expect(read(COPY)).toMatchObject({ data: 1, metadata: { labels } })
  })

  it('has the source in each copy, and the previous value only if both values are from ConfigMaps', async () => {
    const CORE = '/api/v1/namespaces/n'
    const map = (cpu: string) =>
      stage().api.put(`${CORE}/configmaps/sizes`, { metadata: { name: 'sizes' }, data: { cpu } })
    const secret = { metadata: { name: 'creds' }, data: { cpu: Buffer.from('7').toString('base64') } }
    stage().api.put(`${CORE}/secrets/creds`, secret)
    const importFrom = (source: object) => install([{ name: 'size', ...source }])
    const fromMap = { configMapRef: { name: 'sizes', key: 'cpu' } }
    const annotation = (name: string) =>
      read(COPY)?.metadata.annotations?.[`data.landscaper.gardener.cloud/pawl-${name}`]
    const jobs = [
      ['DataObject', 'job-0', { dataRef: 'size' }, '1', undefined],
      ['the first value of a ConfigMap', 'job-1', fromMap, '2', undefined],
      ['the second value', 'job-2', fromMap, '3', { jobID: 'job-1', value: 2 }],
      ['the same value', 'job-3', fromMap, '3', { jobID: 'job-1', value: 2 }],
      ['a Secret', 'job-4', { secretRef: { name: 'creds', key: 'cpu' } }, '3', undefined],
      ['a ConfigMap after the Secret', 'job-5', fromMap, '4', undefined],
      ['a long value', 'job-6', fromMap, `"${'x'.repeat(2000)}"`, { jobID: 'job-5', value: 4 }],
      ['a short value after the long one', 'job-7', fromMap, '5', undefined],
    ] as const
    for (const [what, jobID, source, value, previous] of jobs) {
      map(value)
      importFrom(source)
      await apply(jobID)
      const found = annotation('previous') ?? ''
      expect([what, found === '' ? undefined : JSON.parse(found)]).toEqual([what, previous])
      const [kind = ''] = annotation('source')?.split('/') ?? []
      expect(Object.keys(source)[0]?.replace('Ref', '').toLowerCase()).toBe(kind.toLowerCase().replace('object', ''))
    }
  })

  it('does not write a copy of an earlier version of Pawl, which has no source, until the value changes', async () => {
    await apply('job-1')
    const kept = read(COPY)
    const found = Object.entries(kept?.metadata.annotations ?? {})
    const annotations = Object.fromEntries(found.filter(([name]) => !name.endsWith('/pawl-source')))
    const old = { ...kept, metadata: { name: '', ...kept?.metadata, annotations } }
    stage().api.put(COPY, old)
    const before = writes().length
    await apply('job-2')
    expect(writes().length).toBe(before)
    size(2)
    await apply('job-3')
    expect(read(COPY)?.metadata.annotations).toHaveProperty(
      ['data.landscaper.gardener.cloud/pawl-source'],
      'DataObject/size',
    )
  })

  it('fails with NameTaken when another installation owns an object with the name of a copy', async () => {
    putInstallation('lives')
    put(COPY, { ownerReferences: [owner('lives')] }, { data: 'theirs' })
    await expect(apply()).rejects.toMatchObject({ type: 'NameTaken', nonRetryable: true })
    expect(read(COPY)?.['data']).toBe('theirs')
  })

  it('fails at its end when an import has changed, and writes nothing', async () => {
    const hash = hashOf(await apply())
    const before = writes().length
    expect(await complete(hash)).toEqual({ imports: true })
    size(2)
    await expect(complete(hash)).rejects.toMatchObject({ type: 'CheckImportsHash', nonRetryable: true })
    expect(writes().length).toBe(before)
  })

  it('loses only its own stale copies at its end, also when the step runs twice', async () => {
    const hash = hashOf(await apply())
    const theirs = `${ROOT}/dataobjects/theirs`
    put(theirs, {}, { data: 1 })
    install([])
    expect(hashOf(await apply('job-2'))).toBeUndefined()
    expect(read(COPY)).toBeDefined()
    expect(await complete(hash, 'job-2')).toEqual({ imports: false })
    expect([read(COPY), read(theirs)?.['data']]).toEqual([undefined, 1])
    expect(await complete(hash, 'job-2')).toEqual({ imports: false })
  })
})

// Source: activities/journal/write/subscriptions.ts, S1.
describe('an installation whose execution name is taken', () => {
  const held = (metadata: object) => put(EXECUTION, { uid: 'uid-held', ownerReferences: [owner('old')], ...metadata })
  beforeEach(() => {
    install([])
    held({ deletionTimestamp: '2030-01-01T00:00:00Z' })
  })

  it('waits for the existing execution with one subscription, also when the activity runs twice', async () => {
    const reason = 'waiting for the deletion of Execution "n/root" of an earlier installation'
    expect(await apply()).toEqual({ result: 'waiting', reason })
    expect(await apply()).toEqual({ result: 'waiting', reason })
    const rows = deps.db.selectFrom('subscription').select(['uid', 'job_id', 'kind', 'namespace', 'name'])
    expect(await rows.execute()).toEqual([
      { uid: 'uid-root', job_id: 'job', kind: 'Execution', namespace: 'n', name: 'root' },
    ])
  })

  it.each([
    ['is gone', undefined],
    ['is replaced', { uid: 'uid-third' }],
  ])('retries at once when the existing execution %s before the subscription is stored', async (_, metadata) => {
    let applying: Promise<unknown> = Promise.resolve()
    await deps.db.transaction().execute(async (trx) => {
      await sql`lock table subscription in exclusive mode`.execute(trx)
      applying = apply().catch((error: unknown) => error)
      await expect.poll(() => waitsForLock(trx), { timeout: 30_000 }).toBe(true)
      if (metadata === undefined) stage().api.objects.delete(EXECUTION)
      else held(metadata)
    })
    expect(await applying).toMatchObject({ type: 'Changed' })
  })

  /** Whether a session waits for a lock on the table of subscriptions. */
  async function waitsForLock(db: Kysely<Database>): Promise<boolean> {
    const { rows } = await sql`
      select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())
        and relation = 'subscription'::regclass`.execute(db)
    return rows.length > 0
  }
})

describe('a sub-installation of a template', () => {
  const TEMPLATE_ANNOTATION = 'landscaper.gardener.cloud/subinstallation-name'
  const none = { data: [], targets: [] }
  const ofTemplate = (name: string) => ({
    ownerReferences: [owner('root')],
    annotations: { [TEMPLATE_ANNOTATION]: name },
  })
  const parent = () => storedAs(installationKind, putInstallation('root'))
  const nameOf = (attempt: number) => subInstallationName(parent(), 'db', { jobID: 'job', attempt })
  const applySubs = async (...existing: readonly KubeObject[]) =>
    await applySubInstallations(
      deps,
      { by: BY, subject: SUBJECT, jobID: 'job' },
      {
        parent: parent(),
        templates: [{ name: 'db', blueprint: {}, imports: none, exports: none }],
        existing: existing.map((one) => storedAs(installationKind, one)),
      },
    )

  it('has the same name in every try, and is created once', async () => {
    const first = await applySubs()
    expect(await applySubs()).toEqual(first)
    expect(first.wantedSubs).toEqual([{ template: 'db', name: nameOf(0) }])
    const names = [nameOf(0), 'root'].map((name) => `${ROOT}/installations/${name}`)
    expect([...stage().api.objects.keys()].sort()).toEqual(names)
  })

  it('gets another name when another installation has its name, also one of the same parent, and leaves that installation unchanged', async () => {
    const others = [putInstallation(nameOf(0)), putInstallation(nameOf(1), ofTemplate('app'))]
    const { wantedSubs, subInstallations } = await applySubs()
    expect(wantedSubs).toEqual([{ template: 'db', name: nameOf(2) }])
    expect(subInstallations).toMatchObject([{ name: nameOf(2), template: 'db' }])
    expect([0, 1].map((attempt) => read(`${ROOT}/installations/${nameOf(attempt)}`))).toEqual(others)
    putInstallation(nameOf(2))
    await expect(applySubs()).rejects.toMatchObject({ type: 'NameTaken', nonRetryable: true })
  })

  it('counts as wanted when a user deletes it meanwhile', async () => {
    const known = putInstallation('db-12345', ofTemplate('db'))
    stage().api.objects.delete(`${ROOT}/installations/db-12345`)
    const wantedSubs = [{ template: 'db', name: 'db-12345' }]
    expect(await applySubs(known)).toEqual({ subInstallations: [], wantedSubs })
  })
})

describe('a job that a sub-installation gets', () => {
  const INTERRUPT = { [OPERATION_ANNOTATION]: 'interrupt' }
  const IDLE = { jobID: 'before', jobIDFinished: 'before', phase: 'Succeeded' }
  const sub = (name: string, annotations: object, status: object) =>
    storedAs(
      installationKind,
      putInstallation(name, { annotations, ownerReferences: [owner('root')] }, { spec: { blueprint: {} }, status }),
    )

  it.each([true, false])(
    'is not ended by an interrupt that was left there (ignoring successors: %s)',
    async (ignoresSuccessors) => {
      const subInstallations = [sub('left', INTERRUPT, IDLE), sub('plain', {}, IDLE)].map(subInstallationView)
      const input = { by: BY, subject: SUBJECT, jobID: 'job', ignoresSuccessors, subInstallations }
      expect((await activitiesOf(deps).triggerSubInstallations(input)).changed).toMatchObject([
        { name: 'left', jobID: 'job', interruptRequested: false },
        { name: 'plain', jobID: 'job' },
      ])
      const left = read(`${ROOT}/installations/left`)
      expect(left?.metadata.annotations?.[OPERATION_ANNOTATION]).toBeUndefined()
      expect(left?.['status']).toMatchObject({ jobID: 'job' })
      expect(writes()).toHaveLength(ignoresSuccessors ? 5 : 3)
    },
  )

  it('keeps an interrupt that comes with it', async () => {
    const target = installationView(sub('sub', INTERRUPT, { jobID: 'job', jobIDFinished: 'before', phase: 'Init' }))
    const input = { by: BY, subject: { ...SUBJECT, uid: 'uid-sub', name: 'sub' }, jobID: 'job', target }
    expect(await activitiesOf(deps).adoptInstallation(input)).toMatchObject({
      interruptRequested: true,
      hasContext: true,
    })
  })
})

describe('the exports of sub-installations', () => {
  const CONTEXT = installationContext('root')
  // Longer than a label may be, and with characters that it may not have.
  const LONG = `${'long-'.repeat(20)}name`
  const STRANGE = 'naïve name'

  function exported(plural: string, key: string, by: string, rest: object): void {
    const labels = safeLabels(dataLabels({ context: CONTEXT, key, sourceType: 'export' }))
    put(`${ROOT}/${plural}/${dataObjectName(CONTEXT, key)}`, { labels, ownerReferences: [owner(by)] }, rest)
  }

  it('have the names under which the sub-installations export them, of any length, and contain no data object of another owner', async () => {
    const data = ['short', LONG, STRANGE, 'stolen', 'absent'].map((dataRef) => ({ name: dataRef, dataRef }))
    const spec = { blueprint: {}, exports: { data, targets: [{ name: 'cluster', target: LONG }] } }
    putInstallation('sub', { ownerReferences: [owner('root')] }, { spec })
    for (const [index, key] of ['short', LONG, STRANGE].entries()) exported('dataobjects', key, 'sub', { data: index })
    exported('dataobjects', 'stolen', 'somebody', { data: 9 })
    exported('targets', LONG, 'sub', { spec: { type: 'example.com/cluster' } })
    const { dataobjects, targets } = await exportsWithin(deps, BY, SUBJECT)
    expect(dataobjects).toEqual({ short: 0, [LONG]: 1, [STRANGE]: 2 })
    expect(Object.keys(targets)).toEqual([LONG])
  })
})
