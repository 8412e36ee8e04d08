// Installations that depend on each other, on a server that the test controls, with a real journal: the roots of a namespace, or the sub-installations
// of a parent.

import { sql } from 'kysely'
import { dependentActivities } from '../../activities/landscaper/installation/dependents.ts'
import { predecessorsOf, successorsOf } from '../../activities/landscaper/installation/siblings.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

export const JOB = 'job'
export const INTERRUPTED = { annotations: { [OPERATION_ANNOTATION]: 'interrupt' } }
export const LEAVING = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.com/held'] }
export const PARENT = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
export const NONE = { unfinished: [], failed: [] }
export const WAITS = { unfinished: ['db'], failed: [] }
export const failing = (...failed: readonly string[]) => ({ unfinished: [], failed })
export const DELETED = failing('db is being deleted')
export const ASKED = { annotations: { [OPERATION_ANNOTATION]: 'reconcile' } }

export interface Root {
  readonly name: string
  readonly namespace?: string
  readonly status?: object
  readonly metadata?: object
  readonly imports?: readonly string[]
  readonly exports?: readonly string[]
  readonly optimization?: object
}

export const onlooker = ({ metadata: { name, namespace = '', uid = '' } }: KubeObject) => ({
  by: { workflowID: `installation/${namespace}/${name}/${uid}/${JOB}`, runID: 'run', pass: 1 },
  subject: { group: 'landscaper.gardener.cloud', kind: 'Installation', uid, namespace, name },
  jobID: JOB,
})

export const app = (more: Partial<Root> = {}): Root => ({ name: 'app', imports: ['address'], ...more })
export const db = (more: Partial<Root> = {}): Root => ({ name: 'db', exports: ['address'], ...more })
export const running = (phase: string) => ({ jobID: 'own', jobIDFinished: 'before', phase })
export const ended = (phase: string) => ({ jobID: 'own', jobIDFinished: 'own', phase })

/** The stage of each test, and calls that read and write its objects. */
export function useSiblings(databaseUrl: string) {
  const stage = useWriteStage(databaseUrl)
  /** Stores the Installation on the API server. */
  function put({ name, namespace = 'n', imports = [], exports = [], ...more }: Root): KubeObject {
    const { status = {}, metadata = {}, optimization = {} } = more
    const spec = {
      imports: { data: imports.map((one) => ({ name: one, dataRef: one })) },
      exports: { data: exports.map((one) => ({ name: one, dataRef: one })) },
      blueprint: {},
      optimization,
    }
    const own = { name, namespace, uid: `uid-${namespace}-${name}`, generation: 1 }
    const object = { apiVersion: API, kind: 'Installation', metadata: { ...own, ...metadata }, spec, status }
    return stage().api.put(`/apis/${API}/namespaces/${namespace}/installations/${name}`, object)
  }

  /** Journals an event of each object, and wakes no run. */
  async function hear(...objects: readonly KubeObject[]) {
    const { deps } = stage()
    const events = objects.map((object) => ({ watched: installationKind, type: 'MODIFIED' as const, object }))
    const quiet = { subjectKinds: {}, modes: {}, route: () => ({ ignored: 'by this test' }) }
    const how = { ...quiet, contentKey: undefined, now: deps.now }
    await journalEvents(deps.db, { cluster: 'local', source: 'watch', events }, how)
  }

  const before = async (object: KubeObject) =>
    await predecessorsOf(stage().deps, onlooker(object), storedAs(installationKind, object))
  const after = async (object: KubeObject) =>
    await successorsOf(stage().deps, onlooker(object), storedAs(installationKind, object))
  const end = async (object: KubeObject) => {
    const { by, subject, jobID } = onlooker(object)
    await dependentActivities(stage().deps).triggerDependents({ by, subject, jobID })
  }
  const askLeft = async (object: KubeObject) =>
    await dependentActivities(stage().deps).askLeftDependents(onlooker(object))
  /** The journal's database, and the kinds of the statements that it executes. */
  function counted() {
    const statements: string[] = []
    const db = stage().deps.db.withPlugin({
      transformQuery: ({ node }) => {
        statements.push(node.kind)
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    })
    return { db, statements }
  }
  const waitsOf = async () => {
    const { rows } = await sql<{ name: string }>`select name from subscription order by name`.execute(stage().deps.db)
    return rows.map(({ name }) => name)
  }
  const operationOf = (name: string, namespace = 'n') =>
    stage().api.objects.get(`/apis/${API}/namespaces/${namespace}/installations/${name}`)?.metadata.annotations?.[
      OPERATION_ANNOTATION
    ]
  return { stage, put, hear, before, after, end, askLeft, counted, waitsOf, operationOf }
}
