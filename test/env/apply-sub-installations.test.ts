// The creation of sub-installations from templates, while other objects have their names or a user deletes them. Source: spec/landscaper.md 1.15, 2.5.

import { describe, expect, inject, it } from 'vitest'
import { applySubInstallations } from '../../activities/landscaper/installation/apply-sub-installations.ts'
import { subInstallationName } from '../../activities/landscaper/installation/sub-installation-objects.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const ROOT = `/apis/${API}/namespaces/n/installations`
const SUBJECT = { kind: 'Installation', uid: 'uid-parent', namespace: 'n', name: 'parent' }
const BY = { workflowID: 'installation/n/parent/uid-parent/job', runID: 'run', pass: 1 }
const TEMPLATE_ANNOTATION = 'landscaper.gardener.cloud/subinstallation-name'
const OWNER = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }

const stage = useWriteStage(inject('servers').databaseUrl)
const template = (name: string) => ({
  name,
  blueprint: {},
  imports: { data: [], targets: [] },
  exports: { data: [], targets: [] },
})

function put(name: string, metadata: object = {}): KubeObject {
  const own = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, creationTimestamp: '', ...metadata }
  return stage().api.put(`${ROOT}/${name}`, {
    apiVersion: API,
    kind: 'Installation',
    metadata: own,
    spec: { blueprint: {} },
  })
}

async function apply(existing: readonly KubeObject[] = [], templates: readonly string[] = ['db']) {
  const parent = storedAs(installationKind, put('parent'))
  return await applySubInstallations(
    stage().deps,
    { by: BY, subject: SUBJECT, jobID: 'job' },
    { parent, templates: templates.map(template), existing: existing.map((one) => storedAs(installationKind, one)) },
  )
}

function nameOf(attempt: number): string {
  const parent = storedAs(installationKind, put('parent'))
  return subInstallationName(parent, 'db', { jobID: 'job', attempt })
}

describe('a sub-installation of a template', () => {
  it('has the same name in every try, and is created once', async () => {
    const first = await apply()
    expect(await apply()).toEqual(first)
    expect(first.wantedSubs).toEqual([{ template: 'db', name: nameOf(0) }])
    expect([...stage().api.objects.keys()].sort()).toEqual([`${ROOT}/${nameOf(0)}`, `${ROOT}/parent`])
  })

  it('gets another name when another installation has its name, also one of the same parent, and leaves that installation unchanged', async () => {
    const ofOther = put(nameOf(0))
    const ofTemplate = put(nameOf(1), { ownerReferences: [OWNER], annotations: { [TEMPLATE_ANNOTATION]: 'app' } })
    const { wantedSubs, subInstallations } = await apply()
    expect(wantedSubs).toEqual([{ template: 'db', name: nameOf(2) }])
    expect(subInstallations).toMatchObject([{ name: nameOf(2), template: 'db' }])
    expect(stage().api.objects.get(`${ROOT}/${nameOf(0)}`)).toEqual(ofOther)
    expect(stage().api.objects.get(`${ROOT}/${nameOf(1)}`)).toEqual(ofTemplate)
  })

  it('fails with NameTaken when other installations have all its names', async () => {
    for (const attempt of [0, 1, 2]) put(nameOf(attempt))
    await expect(apply()).rejects.toMatchObject({ type: 'NameTaken', nonRetryable: true })
  })

  it('counts as wanted when a user deletes it meanwhile', async () => {
    const metadata = { ownerReferences: [OWNER], annotations: { [TEMPLATE_ANNOTATION]: 'db' } }
    const known = put('db-12345', metadata)
    stage().api.objects.delete(`${ROOT}/db-12345`)
    expect(await apply([known])).toEqual({
      subInstallations: [],
      wantedSubs: [{ template: 'db', name: 'db-12345' }],
    })
  })
})
