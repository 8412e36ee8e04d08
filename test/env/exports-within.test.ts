// The exports of sub-installations that templates can read: on an API server that the test controls, with a real journal. Source: spec/landscaper.md 3.6.

import { describe, expect, inject, it } from 'vitest'
import { exportsWithin } from '../../activities/landscaper/installation/exports-within.ts'
import { dataLabels, dataObjectName, installationContext } from '../../activities/landscaper/render/names.ts'
import { safeLabels } from '../../activities/landscaper/data-objects.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const ROOT = `/apis/${API}/namespaces/n`
const SUBJECT = { kind: 'Installation', uid: 'uid-parent', namespace: 'n', name: 'parent' }
const BY = { workflowID: 'installation/n/parent/uid-parent/job', runID: 'run', pass: 1 }
const CONTEXT = installationContext('parent')
// Longer than a label may be, and with characters that it may not have.
const LONG = `${'long-'.repeat(20)}name`
const STRANGE = 'naïve name'

const stage = useWriteStage(inject('servers').databaseUrl)
const owner = (name: string) => ({ apiVersion: API, kind: 'Installation', uid: `uid-${name}`, name, controller: true })

function put(plural: string, name: string, metadata: object, rest: object): void {
  const own = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, ...metadata }
  stage().api.put(`${ROOT}/${plural}/${name}`, { apiVersion: API, kind: 'any', metadata: own, ...rest })
}

function exported(plural: string, key: string, by: string, rest: object): void {
  const labels = safeLabels(dataLabels({ context: CONTEXT, key, sourceType: 'export' }))
  put(plural, dataObjectName(CONTEXT, key), { labels, ownerReferences: [owner(by)] }, rest)
}

describe('the exports of sub-installations', () => {
  it('have the names under which the sub-installations export them, of any length, and contain no data object of another owner', async () => {
    const names = ['short', LONG, STRANGE, 'stolen', 'absent']
    const spec = {
      blueprint: {},
      exports: {
        data: names.map((dataRef) => ({ name: dataRef, dataRef })),
        targets: [{ name: 'cluster', target: LONG }],
      },
    }
    put('installations', 'sub', { ownerReferences: [owner('parent')] }, { spec })
    for (const [index, key] of ['short', LONG, STRANGE].entries()) exported('dataobjects', key, 'sub', { data: index })
    exported('dataobjects', 'stolen', 'somebody', { data: 9 })
    exported('targets', LONG, 'sub', { spec: { type: 'example.com/cluster' } })
    const { dataobjects, targets } = await exportsWithin(stage().deps, BY, SUBJECT)
    expect(dataobjects).toEqual({ short: 0, [LONG]: 1, [STRANGE]: 2 })
    expect(Object.keys(targets)).toEqual([LONG])
  })
})
