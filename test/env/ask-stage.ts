// The journal of the tests of queries, and commands with their output.

import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import type { Database } from '../../activities/journal/database.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { type Ended, startCommand } from '../support/pawl/run-command.ts'

export const GROUP = 'landscaper.gardener.cloud'
export const [TEAM_A, TEAM_B, TEAM_C] = ['ask-team-a', 'ask-team-b', 'ask-team-c'] as const
const BEGIN = Date.parse('2026-02-03T04:05:06Z')
export const at = (ms: number) => new Date(BEGIN + ms)
export const RUN = 'installation/ask-team-a/shop/i1/j1'
const FORMER_RUN = 'installation/ask-team-a/shop/i1/j0'

interface Command {
  readonly title: string
  readonly words: readonly string[]
  /** Texts that the command prints, in this order. */
  readonly prints: readonly (RegExp | string)[]
  readonly code?: number
}

/** Commands of a user who may read the objects of team-a. */
export const COMMANDS: readonly Command[] = [
  {
    title: 'get lists the objects of a namespace and the reasons why they wait',
    words: ['get'],
    prints: [
      /^NAME +PHASE +DURATION +WAITING-FOR\n/,
      /\ninstallation\/shop +Failed +5\.0s +failed at \S+ \S+ no such image\n/,
    ],
  },
  {
    title: 'trace shows a job with the jobs that its run hosts',
    words: ['trace', 'inst/shop'],
    prints: [
      /^Installation ask-team-a\/shop: Failed after 5\.0s, started .*\(operation reconcile\)\n/,
      /^Installation ask-team-a\/shop +Failed +5\.0s/m,
      /^└─ Execution ask-team-a\/shop +Failed/m,
      /^ {3}└─ DeployItem ask-team-a\/shop-db +Failed.*no such image$/m,
      /\nnext: pawl why deployitem\/shop-db -n ask-team-a .*\n$/,
    ],
  },
  {
    title: 'trace -w of an ended job shows its tree and exits with the code of the outcome',
    words: ['trace', 'inst', 'shop', '-w'],
    prints: [
      /^Installation ask-team-a\/shop: Failed after 5\.0s, started /,
      /DeployItem ask-team-a\/shop-db +Failed.*no such image\n/,
      /\nnext: pawl why deployitem\/shop-db -n ask-team-a .*\n$/,
    ],
    code: 3,
  },
  {
    title: 'trace shows an earlier job of an object',
    words: ['trace', 'inst/shop', '--job', 'j0'],
    prints: [
      /^Installation ask-team-a\/shop +Succeeded +2\.0s/m,
      /^└─ Execution ask-team-a\/shop +unknown/m,
      /^ {3}└─ DeployItem ask-team-a\/shop-db +Succeeded/m,
    ],
  },
  {
    title: 'diff shows the differences between two jobs',
    words: ['diff', 'inst/shop'],
    prints: [
      /^Installation ask-team-a\/shop: Failed, before Succeeded; /,
      /\nresult +Succeeded after 2\.0s +Failed after 5\.0s\n/,
      /\nnext: pawl replay inst\/shop j1 -n ask-team-a .*\n$/,
      /\nDeployItem ask-team-a\/shop-db +Succeeded +Failed .*no such image\n/,
    ],
  },
  {
    title: 'graph shows the children of an object as text',
    words: ['graph', 'inst/shop'],
    prints: [
      /^Installation ask-team-a\/shop +Failed\n└─ Execution ask-team-a\/shop +Failed\n {3}└─ DeployItem /,
      /\nnext: pawl graph inst\/shop -n ask-team-a .* -o svg > shop\.svg\n$/,
    ],
  },
  { title: 'graph -o dot prints a DOT graph', words: ['graph', 'inst/shop', '-o', 'dot'], prints: [/^digraph \{\n/] },
  {
    title: 'why shows the chain of causes from the edit by a user to the failed item',
    words: ['why', 'di/shop-db'],
    prints: [
      'DeployItem ask-team-a/shop-db is Failed: no such image.\n\nWhat happened:\n',
      'a client other than Pawl changed Installation ask-team-a/shop: ',
      'operation": reconcile',
      'the job of Installation ask-team-a/shop started (operation reconcile)',
      'the run of installation ask-team-a/shop changed DeployItem ask-team-a/shop-db.\n',
      'the job of DeployItem ask-team-a/shop-db started (in the run of its owner)',
      'the job ended: Failed after 3.0s: no such image',
      '\nnext: fix the cause, then pawl retry di/shop-db -n ask-team-a',
    ],
  },
  {
    title: 'why -o wide adds exact times, versions, IDs and passes',
    words: ['why', 'di/shop-db', '-o', 'wide'],
    prints: [
      `${at(900).toISOString()} a client other than Pawl changed Installation ask-team-a/shop (version 2): `,
      `job j1 of Installation ask-team-a/shop started (operation reconcile; run ${RUN})`,
      'the run of installation ask-team-a/shop, in pass 2, step run items, changed DeployItem ask-team-a/shop-db',
    ],
  },
  {
    title: 'why names the item that failed an Installation',
    words: ['why', 'inst/shop'],
    prints: [
      'Installation ask-team-a/shop is Failed: DeployItem ask-team-a/shop-db: no such image.\n\nBecause:\n',
      'Execution ask-team-a/shop (Failed) failed because of DeployItem ask-team-a/shop-db (Failed).\n',
    ],
  },
  {
    title: 'history shows the versions of an object',
    words: ['history', 'inst/shop'],
    prints: [
      /^Installation ask-team-a\/shop: Failed, last change /,
      'changed by a client other than Pawl',
      'status.phase: Init -> Failed',
    ],
  },
  {
    title: 'history -o wide adds versions, sources and exact times',
    words: ['history', 'inst/shop', '-o', 'wide'],
    prints: [/\n\d{4}-\S+Z {2}changed by a client other than Pawl, version 2, seen by watch\n/],
  },
  {
    title: 'history --at shows a previous version',
    words: ['history', 'inst/shop', '--at', at(1500).toISOString(), '-o', 'json'],
    prints: ['"resourceVersion": 3', '"phase": "Init"'],
  },
  { title: 'completion gives the names of objects', words: ['__complete', 'inst/s'], prints: [/^inst\/shop\n$/] },
]

/** Checks the output of one of the commands. @param place flags and environment that say where the journal is. */
export async function checkCommand(
  { words: [name = '', ...words], prints, code = 0 }: Command,
  place: { readonly flags: readonly string[]; readonly env?: Readonly<Record<string, string>> },
): Promise<void> {
  const flags = ['-n', TEAM_A, ...place.flags]
  const args = name === '__complete' ? [name, '--', 'why', ...flags, ...words] : [name, ...words, ...flags]
  const answer = await runPawl(args, place.env)
  expect(answer).toMatchObject({ code })
  for (const text of prints)
    if (typeof text === 'string') expect(answer.stdout).toContain(text)
    else expect(answer.stdout).toMatch(text)
  const places = prints.flatMap((text) => (typeof text === 'string' ? [answer.stdout.indexOf(text)] : []))
  expect(places).toEqual(places.toSorted((left, right) => left - right))
}

/** Runs the command in a new process, as a user does. */
export async function runPawl(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return await startCommand({ KUBECONFIG: '/nonexistent', ...env }, ...args)
}

const owned = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: `${GROUP}/v1alpha1`, kind, name, uid, controller: true }],
})

interface Metadata {
  readonly namespace?: string
  readonly ownerReferences?: readonly object[]
}

const objectRow = (kind: string, uid: string, name: string, { namespace = TEAM_A, ...metadata }: Metadata = {}) => ({
  cluster: 'local',
  api_group: GROUP,
  kind,
  uid,
  namespace,
  name,
  resource_version: 9,
  seq: 9,
  owner_uid: null,
  hash: null,
  deleted: false,
  presumed_deleted: false,
  updated_at: at(5000),
  projection: JSON.stringify({
    metadata: { name, namespace, ...metadata },
    status: { phase: 'Failed', jobID: 'j1', jobIDFinished: 'j1' },
  }),
})

/** An Execution with two items that depend on each other, so no deployer has started them. */
function ring() {
  const item = (name: string, other: string) => ({
    ...objectRow('DeployItem', `ring-${name}`, `ring-${name}`),
    namespace: TEAM_C,
    owner_uid: 'e3',
    projection: JSON.stringify({
      metadata: {
        name: `ring-${name}`,
        namespace: TEAM_C,
        ...owned('Execution', 'ring', 'e3'),
        labels: { 'execution.landscaper.gardener.cloud/name': name },
        annotations: { 'execution.landscaper.gardener.cloud/dependsOn': other },
      },
    }),
  })
  return [objectRow('Execution', 'e3', 'ring', { namespace: TEAM_C }), item('a', 'b'), item('b', 'a')]
}

/** Fills the journal with an Installation of team-a with two jobs, of which the last one failed, and objects of other namespaces. */
export async function fillJournal(db: Kysely<Database>): Promise<void> {
  const objects = [
    objectRow('Installation', 'i1', 'shop'),
    objectRow('Installation', 'i2', 'other', { namespace: TEAM_B }),
    { ...objectRow('Execution', 'e1', 'shop', owned('Installation', 'shop', 'i1')), owner_uid: 'i1' },
    { ...objectRow('DeployItem', 'd1', 'shop-db', owned('Execution', 'shop', 'e1')), owner_uid: 'e1' },
    // Users can write any owner reference. An item in another namespace is no child of the Execution.
    {
      ...objectRow('DeployItem', 'd2', 'strange', { ...owned('Execution', 'shop', 'e1'), namespace: TEAM_B }),
      owner_uid: 'e1',
    },
  ]
  await db
    .insertInto('object')
    .values([...objects, ...ring()])
    .execute()
  const error = JSON.stringify({ message: 'no such image' })
  const phases = JSON.stringify([
    { phase: 'Init', at: at(1000).toISOString() },
    { phase: 'Failed', at: at(5000).toISOString() },
  ])
  const ended = { phase: 'Failed', phases, outcome: 'Failed', last_error: error, finished_at: at(6000) }
  const run = { workflow_id: RUN, cluster: 'local', job_id: 'j1', namespace: TEAM_A }
  const job = {
    ...run,
    ...ended,
    run_id: 'r1',
    controller: 'installation',
    uid: 'i1',
    name: 'shop',
    cause: 'operation reconcile',
    attempt: 0,
    passes: 4,
    lookups: 0,
    started_at: at(1000),
  }
  const before = {
    ...job,
    workflow_id: FORMER_RUN,
    job_id: 'j0',
    phase: 'Succeeded',
    outcome: 'Succeeded',
    last_error: null,
    phases: '[]',
    started_at: at(-9000),
    finished_at: at(-7000),
  }
  // Another cluster may have objects with the same UIDs.
  const elsewhere = { ...job, workflow_id: 'elsewhere', cluster: 'copy', job_id: 'j7', started_at: at(7000) }
  await db.insertInto('job').values([job, before, elsewhere]).execute()
  await db
    .insertInto('hosted_job')
    .values([
      { ...run, ...ended, controller: 'execution', uid: 'e1', name: 'shop', started_at: at(2000) },
      { ...run, ...ended, controller: 'deploy-item', uid: 'd1', name: 'shop-db', started_at: at(3000) },
    ])
    .execute()
  const wake = (uid: string, ms: number, namespace: string = TEAM_B) => ({
    controller: 'installation',
    uid,
    job_id: '',
    cluster: 'local',
    namespace,
    name: uid,
    seq: 1,
    due: at(ms),
    foreign_event: true,
    may_start: true,
    writer: null,
    cause: 'test',
  })
  await upsertWakes(db, [wake('i9', 0), wake('i2', 1), wake('i8', 0, TEAM_C)], at(0))
  await events(db)
}

async function events(db: Kysely<Database>): Promise<void> {
  const event = (ms: number, version: number, of: { kind: string; uid: string; name: string }, projection: object) => ({
    at: at(ms),
    cluster: 'local',
    api_group: GROUP,
    namespace: TEAM_A,
    resource_version: version,
    ...of,
    type: 'MODIFIED' as const,
    source: 'watch' as const,
    writer: null,
    outcome: 'wake' as const,
    reason: null,
    projection: JSON.stringify(projection),
  })
  const shop = { kind: 'Installation', uid: 'i1', name: 'shop' }
  const item = { kind: 'DeployItem', uid: 'd1', name: 'shop-db' }
  const metadata = { annotations: { [`${GROUP}/operation`]: 'reconcile' } }
  const own = { source: 'write' as const, writer: RUN }
  await db
    .insertInto('watch_event')
    .values([
      {
        ...event(-7500, 1, item, { status: { phase: 'Succeeded', jobID: 'j0', jobIDFinished: 'j0' } }),
        writer: FORMER_RUN,
      },
      { ...event(0, 1, shop, { metadata: {}, spec: {} }), type: 'ADDED' },
      event(900, 2, shop, { metadata }),
      { ...event(1100, 3, shop, { status: { phase: 'Init', jobID: 'j1' } }), ...own },
      { ...event(2900, 5, item, { status: { jobID: 'j1' } }), ...own },
      { ...event(5900, 9, shop, { status: { phase: 'Failed', jobID: 'j1', jobIDFinished: 'j1' } }), ...own },
    ])
    .execute()
  const object = `DeployItem.${GROUP}/${TEAM_A}/shop-db`
  await sql`insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, resource_version, started_at, finished_at)
            values (${RUN}, 'r1', 2, 'run items', ${object}, 'patch', 'pawl', 5, ${at(2800)}, ${at(2900)})`.execute(db)
}
