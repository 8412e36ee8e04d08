// The activities of an Installation with imports while objects change: which objects they render again, write again, or leave unchanged.

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { renderInstallation } from '../../activities/landscaper/installation/render-installation.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { dataObjectName, installationContext } from '../../activities/landscaper/render/names.ts'
import {
  createTemplateEngine,
  type TemplateEngines,
} from '../../activities/landscaper/render/engine/template-engine.ts'
import { API } from '../support/cluster/cluster.ts'
import { dataObject, importingInstallation } from '../support/landscaper/imports.ts'
import { type Request, type TinyApi, refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { activitiesOf, landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'

const ROOT = `/apis/${API}/namespaces/n`
const SUBJECT = { kind: 'Installation', uid: 'uid-root', namespace: 'n', name: 'root' }
const BY = { workflowID: 'installation/uid-root/job', runID: 'run', pass: 1 }
const COPY = `${ROOT}/dataobjects/${dataObjectName(installationContext('root'), 'size')}`
const OPTIONAL = { imports: [{ name: 'size', type: 'data', schema: {}, required: false }] }

const stage = useWriteStage(inject('servers').databaseUrl)
let templates: TemplateEngines
let api: TinyApi
let deps: LandscaperDeps

beforeAll(() => {
  templates = createTemplateEngine({ threads: 1 })
})
afterAll(async () => {
  await templates.close()
})
beforeEach(() => {
  api = stage().api
  deps = landscaperDeps(stage().deps, { templates })
  api.intercept = lists
  install([{ name: 'size', dataRef: 'size' }])
  api.put(`${ROOT}/dataobjects/size`, dataObject('size', 1))
})

function install(imports: readonly object[]) {
  const { spec } = importingInstallation('root', { imports, blueprint: OPTIONAL })
  api.put(`${ROOT}/installations/root`, {
    metadata: { name: 'root', namespace: 'n', uid: 'uid-root', generation: 1 },
    spec,
  })
}

/** The server's lists, which know no selectors: the owner decides. */
function lists({ method, path }: Request) {
  if (method !== 'GET' || !/\/(dataobjects|targets)$/.test(path)) return undefined
  const items = [...api.objects].flatMap(([key, one]) => (key.startsWith(`${path}/`) ? [one] : []))
  return { status: 200, body: { metadata: { resourceVersion: '1' }, items } }
}

const apply = async (jobID = 'job') =>
  await activitiesOf(deps).applyChildren({ by: BY, subject: SUBJECT, jobID, generation: 1 })
const complete = async (importsHash: string | undefined, jobID = 'job') => {
  const given = { by: BY, subject: SUBJECT, jobID, generation: 1, importsHash, hasItemExports: false }
  return await activitiesOf(deps).writeExports(given)
}
const hashOf = (applied: Awaited<ReturnType<typeof apply>>) =>
  applied.result === 'applied' ? applied.importsHash : undefined
const writes = () => api.requests.filter((request) => !request.startsWith('GET'))
const read = (path: string): KubeObject | undefined => api.objects.get(path)

describe('rendering an installation', () => {
  it('writes nothing, and returns the objects', async () => {
    const installation = storedAs(installationKind, read(`${ROOT}/installations/root`) ?? { metadata: { name: '' } })
    const rendered = await renderInstallation(deps, SUBJECT, { installation, jobID: 'job' })
    expect(rendered).toMatchObject({
      imports: { data: { size: 1 }, hash: expect.stringMatching(/^[0-9a-f]{40}$/) as string },
      execution: { spec: { context: 'default' }, hasItems: true },
      states: { loaded: {}, rendered: {} },
    })
    expect(writes()).toEqual([])
  })
})

describe('an installation whose imports are applied', () => {
  it('is rendered again when an import changes before the activity ends', async () => {
    api.intercept = (request) => {
      if (request.method === 'POST' && request.path.endsWith('/executions')) {
        api.put(`${ROOT}/dataobjects/size`, dataObject('size', 2))
      }
      return lists(request)
    }
    await expect(apply()).rejects.toMatchObject({ type: 'Changed' })
    expect(read(COPY)?.['data']).toBe(1)
    api.intercept = lists
    expect(await apply()).toMatchObject({ result: 'applied' })
    expect(read(COPY)?.['data']).toBe(2)
  })

  it('gets a refused result, not an error, when an import is missing', async () => {
    api.objects.delete(`${ROOT}/dataobjects/size`)
    expect(await apply()).toMatchObject({ result: 'refused', code: 'ImportNotFound' })
    expect(writes()).toEqual([])
  })

  it('is retried while the API server answers with 503', async () => {
    api.intercept = ({ path }) => (path.endsWith('/size') ? refusal(503, 'ServiceUnavailable') : undefined)
    await expect(apply()).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
    const hash = 'any'
    await expect(complete(hash)).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
  })

  it('keeps correct copies of an earlier job unchanged, and repairs a copy that a user has edited', async () => {
    const first = await apply('job-1')
    const before = writes().length
    const kept = read(COPY)
    expect(await apply('job-2')).toEqual(first)
    expect([writes().length, read(COPY)]).toEqual([before, kept])
    api.put(COPY, { ...kept, metadata: kept?.metadata ?? { name: '' }, data: 'by hand' })
    await apply('job-2')
    expect(read(COPY)).toMatchObject({
      data: 1,
      metadata: { labels: { 'data.landscaper.gardener.cloud/jobid': 'job-2' } },
    })
  })

  it('fails with NameTaken when another installation owns an object with the name of a copy', async () => {
    const owner = { apiVersion: API, kind: 'Installation', name: 'lives', uid: 'theirs', controller: true }
    api.put(`${ROOT}/installations/lives`, { metadata: { name: 'lives', uid: 'theirs' } })
    const name = COPY.split('/').at(-1) ?? ''
    api.put(COPY, { metadata: { name, namespace: 'n', uid: 'c', ownerReferences: [owner] }, data: 'theirs' })
    await expect(apply()).rejects.toMatchObject({ type: 'NameTaken', nonRetryable: true })
    expect(read(COPY)?.['data']).toBe('theirs')
  })
})

describe('an installation that completes', () => {
  it('fails when an import has changed, and writes nothing', async () => {
    const hash = hashOf(await apply())
    const before = writes().length
    expect(await complete(hash)).toEqual({ imports: true })
    api.put(`${ROOT}/dataobjects/size`, dataObject('size', 2))
    await expect(complete(hash)).rejects.toMatchObject({ type: 'CheckImportsHash', nonRetryable: true })
    expect(writes().length).toBe(before)
  })

  it('removes only its own stale copies, also when the step runs twice', async () => {
    const hash = hashOf(await apply())
    const theirs = `${ROOT}/dataobjects/theirs`
    api.put(theirs, { metadata: { name: 'theirs', namespace: 'n', uid: 'x' }, data: 1 })
    install([])
    expect(hashOf(await apply('job-2'))).toBeUndefined()
    expect(read(COPY)).toBeDefined()
    expect(await complete(hash, 'job-2')).toEqual({ imports: false })
    expect([read(COPY), read(theirs)?.['data']]).toEqual([undefined, 1])
    expect(await complete(hash, 'job-2')).toEqual({ imports: false })
  })
})
