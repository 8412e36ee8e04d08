// Fills a new database with the journal of a busy cluster, by SQL statements that generate the rows.

import { randomBytes } from 'node:crypto'
import pg from 'pg'

import { migrateUp } from '../../../activities/journal/migrate.ts'

/** A running job of an Installation with one Execution. */
export interface LiveJob {
  readonly namespace: string
  /** The name of the Installation and the Execution. */
  readonly name: string
  readonly workflowID: string
  /** The phase of all its objects. */
  readonly phase: string
  readonly items: number
  /** The uid of one of the DeployItems. */
  readonly itemUid: string
}

export interface AskJournal {
  readonly url: string
  readonly live: readonly LiveJob[]
  readonly drop: () => Promise<void>
}

export const INSTALLATIONS = 10_000
const NAMESPACES = 100
/** The number of jobs of each Installation. */
const JOBS = 10
/** The numbers of DeployItems of the running jobs. */
const LIVE_ITEMS = [1, 200]
const CLUSTER = 'local'
const GROUP = 'landscaper.gardener.cloud'

/** The kind, its controller, the prefix of its uids, and the prefix of its owner's uids. */
const KINDS = [
  ['Installation', 'installation', 'i', undefined],
  ['Execution', 'execution', 'e', 'i'],
  ['DeployItem', 'deploy-item', 'd', 'e'],
] as const

/** @param adminUrl the URL of a user who may create databases. */
export async function makeAskJournal(adminUrl: string): Promise<AskJournal> {
  const name = `ask_${randomBytes(6).toString('hex')}`
  await execute(adminUrl, [`create database ${name}`])
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  await migrateUp(url.href)
  const live = LIVE_ITEMS.map(liveJob)
  const others = [...KINDS.map(objectsOf), jobs(), hostedJobs(), events(), actions()]
  await execute(url.href, [...others, ...live.flatMap(liveRows), 'analyze'])
  return { url: url.href, live, drop: async () => await execute(adminUrl, [`drop database ${name} with (force)`]) }
}

async function execute(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const SERIES = `generate_series(1, ${INSTALLATIONS}) as n`
const NAMESPACE = `'team-' || n % ${NAMESPACES}`
const NAME = `'shop-' || n`

function objectsOf([kind, , prefix, owner]: (typeof KINDS)[number]): string {
  const [ownerKind] = KINDS.find(([, , of]) => of === owner) ?? []
  const reference = `jsonb_build_array(jsonb_build_object('apiVersion', '${GROUP}/v1alpha1', 'kind', '${ownerKind ?? ''}', 'name', ${NAME},
    'uid', '${owner ?? ''}' || n, 'controller', true))`
  const metadata = `jsonb_build_object('name', ${NAME}, 'namespace', ${NAMESPACE}${owner === undefined ? '' : `, 'ownerReferences', ${reference}`})`
  return `
    insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, deleted, presumed_deleted, updated_at)
    select '${CLUSTER}', '${GROUP}', '${kind}', '${prefix}' || n, ${NAMESPACE}, ${NAME}, ${owner === undefined ? 'null' : `'${owner}' || n`}, n * 100, n,
           jsonb_build_object('metadata', ${metadata}, 'status', jsonb_build_object('phase', case when n % 50 = 0 then 'Failed' else 'Succeeded' end,
             'jobID', 'j${JOBS}', 'jobIDFinished', 'j${JOBS}')), false, false, now()
    from ${SERIES}`
}

const RUN = `'installation/' || ${NAMESPACE} || '/' || ${NAME} || '/i' || n || '/j' || job`
const STARTED = `now() - (${JOBS} - job) * interval '1 hour'`
const PHASES = `jsonb_build_array(jsonb_build_object('phase', 'Init', 'at', ${STARTED}))`
const EACH_JOB = `${SERIES}, generate_series(1, ${JOBS}) as job`
const ENDED = `case when n % 50 = 0 and job = ${JOBS} then 'Failed' else 'Succeeded' end`

function jobs(): string {
  return `
    insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, phase, phases, outcome, attempt, passes, lookups,
                     started_at, finished_at)
    select ${RUN}, 'r', 'installation', '${CLUSTER}', 'i' || n, 'j' || job, ${NAMESPACE}, ${NAME}, 'operation reconcile', ${ENDED}, ${PHASES},
           ${ENDED}, 0, 4, 0, ${STARTED}, ${STARTED} + interval '5 s'
    from ${EACH_JOB}`
}

function hostedJobs(): string {
  return KINDS.slice(1)
    .map(
      ([, controller, prefix]) => `
    insert into hosted_job (workflow_id, controller, cluster, uid, job_id, namespace, name, phase, phases, outcome, started_at, finished_at)
    select ${RUN}, '${controller}', '${CLUSTER}', '${prefix}' || n, 'j' || job, ${NAMESPACE}, ${NAME}, ${ENDED}, ${PHASES}, ${ENDED}, ${STARTED},
           ${STARTED} + interval '4 s'
    from ${EACH_JOB};`,
    )
    .join('')
}

/** Two events for each job and object: the request and the outcome. */
function events(): string {
  return KINDS.map(
    ([kind, , prefix]) => `
    insert into watch_event (at, cluster, api_group, kind, uid, namespace, name, resource_version, type, source, writer, projection, outcome, reason)
    select ${STARTED} + step * interval '2 s', '${CLUSTER}', '${GROUP}', '${kind}', '${prefix}' || n, ${NAMESPACE}, ${NAME}, n * 100 + job * 2 + step,
           'MODIFIED', case step when 0 then 'watch' else 'write' end, case step when 0 then null else ${RUN} end,
           jsonb_build_object('status', jsonb_build_object('phase', ${ENDED}, 'jobID', 'j' || job)), 'wake', 'operation reconcile'
    from ${EACH_JOB}, generate_series(0, 1) as step;`,
  ).join('')
}

function actions(): string {
  return `
    insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, resource_version, started_at, finished_at)
    select ${RUN}, 'r', 2, 'runItems', 'DeployItem.${GROUP}/' || ${NAMESPACE} || '/' || ${NAME}, 'patchStatus', 'pawl-installation', n * 100 + job * 2 + 1,
           ${STARTED}, ${STARTED}
    from ${EACH_JOB}`
}

function liveJob(items: number): LiveJob {
  const [namespace, name] = ['live', `live-${items}`]
  const workflowID = `installation/${namespace}/${name}/i-${name}/now`
  return { namespace, name, workflowID, phase: 'Progressing', items, itemUid: `d-${name}-1` }
}

/** The rows of a running job: its objects, the job, and the jobs that its run hosts. */
function liveRows({ namespace, name, workflowID, phase, items }: LiveJob): readonly string[] {
  const one = `(values ('${name}', '${name}')) as its(name, id)`
  const many = `(select '${name}-' || n as name, '${name}-' || n as id from generate_series(1, ${items}) as n) as its`
  const objects = KINDS.map(([kind, , prefix, owner]) => {
    const [ownerKind] = KINDS.find(([, , of]) => of === owner) ?? []
    const reference = `jsonb_build_array(jsonb_build_object('apiVersion', '${GROUP}/v1alpha1', 'kind', '${ownerKind ?? ''}', 'name', '${name}', 'uid', '${owner ?? ''}-${name}', 'controller', true))`
    return `
      insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, deleted, presumed_deleted, updated_at)
      select '${CLUSTER}', '${GROUP}', '${kind}', '${prefix}-' || id, '${namespace}', name, ${owner === undefined ? 'null' : `'${owner}-${name}'`}, 1, 1,
             jsonb_build_object('metadata', jsonb_build_object('name', name, 'namespace', '${namespace}'${owner === undefined ? '' : `, 'ownerReferences', ${reference}`}),
               'status', jsonb_build_object('phase', '${phase}', 'jobID', 'now')), false, false, now()
      from ${kind === 'DeployItem' ? many : one}`
  })
  const started = `'${phase}', jsonb_build_array(jsonb_build_object('phase', '${phase}', 'at', now()))`
  const job = `
    insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, phase, phases, attempt, passes, lookups, started_at)
    values ('${workflowID}', 'r', 'installation', '${CLUSTER}', 'i-${name}', 'now', '${namespace}', '${name}', 'operation reconcile', ${started}, 0, 1, 0, now())`
  const hosted = KINDS.slice(1).map(
    ([kind, controller, prefix]) => `
    insert into hosted_job (workflow_id, controller, cluster, uid, job_id, namespace, name, phase, phases, started_at)
    select '${workflowID}', '${controller}', '${CLUSTER}', '${prefix}-' || id, 'now', '${namespace}', name, ${started}, now()
    from ${kind === 'DeployItem' ? many : one}`,
  )
  return [...objects, job, ...hosted]
}
