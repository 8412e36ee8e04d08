// `--strict-tenancy`: when ServiceAccounts and names of data may be used; against a real API server.

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'

import { createTargetAccess } from '../../activities/landscaper/deploy/target/open-target.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { dataLabels, dataObjectName } from '../../activities/landscaper/render/names.ts'
import {
  createTemplateEngine,
  type TemplateEngines,
} from '../../activities/landscaper/render/engine/template-engine.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import type { Request, TinyApi } from '../activities/kube/tiny-api.ts'
import { activitiesOf, landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { API } from '../support/cluster/cluster.ts'
import { importingInstallation } from '../support/landscaper/imports.ts'
import { failure, useTargetStage, whoami } from './target-stage.ts'
import { dataOf } from '../activities/landscaper/tenant-data.ts'

const NAMESPACE = 'strict-tenancy'
const cluster = useTargetStage(NAMESPACE)

describe('a ServiceAccount that a Target with selfConfig names', () => {
  const annotated = (value: string | null) => ({ metadata: { annotations: { 'pawl.dev/allow-targets': value } } })
  const account = (name: string) => `${cluster().core}/serviceaccounts/${name}`
  const self = async (name: string) => {
    await cluster().admin.request('POST', `${cluster().core}/serviceaccounts`, { body: { metadata: { name } } })
    await cluster().target(name, { config: { selfConfig: { serviceAccount: { name } } } })
  }
  const strict = () =>
    createTargetAccess({ kube: cluster().admin, data: dataOf, now: () => new Date(), strictTenancy: true })

  it('is used only while its annotation pawl.dev/allow-targets is true', async () => {
    await self('careful')
    const access = strict()
    const open = async () => await access.open(NAMESPACE, 'careful')
    const refusal = { reason: 'InvalidTarget', isFinal: true }
    const without = await failure(open)
    expect(without).toMatchObject(refusal)
    expect(without.message).toBe(
      `Target "${NAMESPACE}/careful": ServiceAccount "${NAMESPACE}/careful": annotation pawl.dev/allow-targets: found nothing; expected "true", because of --strict-tenancy`,
    )
    await cluster().patch(account('careful'), annotated('yes'))
    expect((await failure(open)).message).toBe(
      `Target "${NAMESPACE}/careful": ServiceAccount "${NAMESPACE}/careful": annotation pawl.dev/allow-targets: found "yes"; expected "true", because of --strict-tenancy`,
    )
    await cluster().patch(account('careful'), annotated('true'))
    expect(await whoami(await open())).toBe(`system:serviceaccount:${NAMESPACE}:careful`)
    await cluster().patch(account('careful'), annotated(null))
    expect(await failure(open)).toMatchObject(refusal)
    await access.close()
    // Without the flag it is used as ever.
    expect(await whoami(await cluster().open('careful'))).toBe(`system:serviceaccount:${NAMESPACE}:careful`)
  })

  it('is reported as missing in the same way as without the flag', async () => {
    await cluster().target('absent', { config: { selfConfig: { serviceAccount: { name: 'absent' } } } })
    const access = strict()
    expect((await failure(() => access.open(NAMESPACE, 'absent'))).message).toContain('absent" does not exist')
    await access.close()
  })

  it('is not used when an installation has exported the Target', async () => {
    await self('exported')
    await cluster().patch(account('exported'), annotated('true'))
    const labels = dataLabels({ context: '', key: 'k', sourceType: 'export', source: 'Inst.a', jobID: 'j' })
    await cluster().patch(`${cluster().targets}/exported`, { metadata: { labels } })
    const access = strict()
    expect((await failure(() => access.open(NAMESPACE, 'exported'))).message).toBe(
      `Target "${NAMESPACE}/exported": spec.config: found selfConfig in an exported Target; expected a kubeconfig, because of --strict-tenancy`,
    )
    await access.close()
  })
})

describe('exports of an installation', () => {
  const SUBJECT = { kind: 'Installation', uid: 'uid-root', namespace: 'n', name: 'root' }
  const BY = { workflowID: 'installation/uid-root/job', runID: 'run', pass: 1 }
  const ROOT = `/apis/${API}/namespaces/n`
  const place = {
    data: `${ROOT}/dataobjects/${dataObjectName('', 'size')}`,
    target: `${ROOT}/targets/${dataObjectName('', 'there')}`,
  }
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
    deps = landscaperDeps(stage().deps, { templates, strictTenancy: true })
    api.intercept = ({ method, path }: Request) =>
      method === 'GET' && /\/(dataobjects|targets)$/.test(path)
        ? { status: 200, body: { metadata: { resourceVersion: '1' }, items: [] } }
        : undefined
  })

  const SELF = { selfConfig: { serviceAccount: { name: 'admin' } } }
  /** Writes the exports of an installation whose blueprint exports a number and a Target. */
  async function publish(config: object, one: LandscaperDeps = deps) {
    const exported = { size: 1, there: { type: 'landscaper.gardener.cloud/kubernetes-cluster', config } }
    const blueprint = {
      exports: [
        { name: 'size', type: 'data', schema: {} },
        { name: 'there', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' },
      ],
      exportExecutions: [{ name: 'e', type: 'GoTemplate', template: JSON.stringify({ exports: exported }) }],
    }
    const { spec } = importingInstallation('root', { imports: [], blueprint })
    const exports = { data: [{ name: 'size', dataRef: 'size' }], targets: [{ name: 'there', target: 'there' }] }
    api.put(`${ROOT}/installations/root`, {
      metadata: { name: 'root', namespace: 'n', uid: 'uid-root', generation: 1 },
      spec: { ...spec, exports },
    })
    const given = {
      by: BY,
      subject: SUBJECT,
      jobID: 'job',
      generation: 1,
      importsHash: undefined,
      hasItemExports: false,
    }
    return await activitiesOf(one).writeExports(given)
  }

  it('are refused when they contain a Target with selfConfig', async () => {
    await expect(publish(SELF)).rejects.toThrow('export "there": config: found selfConfig; expected a kubeconfig')
    expect(api.objects.has(place.data)).toBe(false)
    await publish({ kubeconfig: 'x' })
    expect(api.objects.has(place.target)).toBe(true)
  })

  it('that were created or taken over without the flag are still written with it', async () => {
    const lax = landscaperDeps(stage().deps, { templates })
    const metadata = { name: dataObjectName('', 'there'), namespace: 'n', uid: 'by-hand', resourceVersion: '5' }
    api.put(place.target, { metadata, spec: { type: 'mine', config: {} } })
    await publish(SELF, lax)
    await publish({ kubeconfig: 'x' })
    expect(api.objects.get(place.target)).toMatchObject({
      metadata: { uid: 'by-hand', ownerReferences: [{ uid: SUBJECT.uid }] },
      spec: { config: { kubeconfig: 'x' } },
    })
    expect(api.objects.has(place.data)).toBe(true)
  })

  it('with selfConfig stay unchanged when the flag refuses them, and no other export is written', async () => {
    await publish(SELF, landscaperDeps(stage().deps, { templates }))
    const before = [place.target, place.data].map((path) => JSON.stringify(api.objects.get(path)))
    await expect(publish(SELF)).rejects.toThrow('export "there": config: found selfConfig; expected a kubeconfig')
    expect([place.target, place.data].map((path) => JSON.stringify(api.objects.get(path)))).toEqual(before)
  })

  it('do not take over an existing object without an owner', async () => {
    const contents = { [place.data]: { data: 7 }, [place.target]: { spec: { type: 'mine', config: {} } } }
    for (const [path, content] of Object.entries(contents)) {
      const metadata = { name: path.split('/').at(-1) ?? '', namespace: 'n', uid: 'by-hand', resourceVersion: '5' }
      api.put(path, { metadata, ...content })
      await expect(publish({ kubeconfig: 'x' })).rejects.toThrow(
        /found no owner; expected Installation "root", because of --strict-tenancy/,
      )
      expect(api.objects.get(path)?.metadata.ownerReferences).toBeUndefined()
      // As ever without the flag.
      await publish({ kubeconfig: 'x' }, landscaperDeps(stage().deps, { templates }))
      expect(api.objects.get(path)?.metadata.ownerReferences).toHaveLength(1)
      api.objects.delete(path)
    }
  })
})
