// The job that sub-installations get from their parent: on a server that the test drives, with a real journal. Source: spec/landscaper.md 2.2, 2.11.

import { describe, expect, inject, it } from 'vitest'
import { adoptActivities } from '../../activities/landscaper/installation/start.ts'
import { subInstallationActivities } from '../../activities/landscaper/installation/sub-installations.ts'
import { installationView, subInstallationView } from '../../activities/landscaper/installation/views.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const ROOT = `/apis/${API}/namespaces/n/installations`
const SUBJECT = { kind: 'Installation', uid: 'uid-parent', namespace: 'n', name: 'parent' }
const BY = { workflowID: 'installation/n/parent/uid-parent/job', runID: 'run', pass: 1 }
const INTERRUPT = { [OPERATION_ANNOTATION]: 'interrupt' }

const stage = useWriteStage(inject('servers').databaseUrl)

function put(name: string, annotations: Readonly<Record<string, string>>, status: object) {
  const owner = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
  const metadata = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, annotations, ownerReferences: [owner] }
  const object = { apiVersion: API, kind: 'Installation', metadata, spec: { blueprint: {} }, status }
  return storedAs(installationKind, stage().api.put(`${ROOT}/${name}`, object))
}

const IDLE = { jobID: 'before', jobIDFinished: 'before', phase: 'Succeeded' }
const now = (name: string) => stage().api.objects.get(`${ROOT}/${name}`)

describe('a job that a sub-installation gets', () => {
  it.each([true, false])(
    'is not ended by an interrupt that was left there (ignoring successors: %s)',
    async (ignores) => {
      const subs = [put('left', INTERRUPT, IDLE), put('plain', {}, IDLE)]
      const activities = subInstallationActivities(stage().deps)
      const { changed } = await activities.triggerSubInstallations({
        by: BY,
        subject: SUBJECT,
        jobID: 'job',
        ignoresSuccessors: ignores,
        subInstallations: subs.map(subInstallationView),
      })
      expect(changed).toMatchObject([
        { name: 'left', jobID: 'job', interruptRequested: false },
        { name: 'plain', jobID: 'job' },
      ])
      expect(now('left')?.metadata.annotations?.[OPERATION_ANNOTATION]).toBeUndefined()
      expect(now('left')?.['status']).toMatchObject({ jobID: 'job' })
      expect(stage().api.requests.filter((one) => one.startsWith('PATCH'))).toHaveLength(ignores ? 5 : 3)
    },
  )

  it('keeps an interrupt that comes with it', async () => {
    const sub = put('sub', INTERRUPT, { jobID: 'job', jobIDFinished: 'before', phase: 'Init' })
    const activities = adoptActivities(stage().deps)
    const input = { by: BY, subject: { ...SUBJECT, uid: 'uid-sub', name: 'sub' }, jobID: 'job' }
    const adopted = await activities.adoptInstallation({ ...input, target: installationView(sub) })
    expect(adopted).toMatchObject({ interruptRequested: true, hasContext: true })
  })
})
