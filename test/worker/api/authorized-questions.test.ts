import { describe, expect, it } from 'vitest'

import type { EventRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { LocatedObject } from '../../../activities/journal/read/object-locations.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import type { ObjectPlaces, Permissions } from '../../../worker/api/permissions.ts'
import { authorizedQuestions, MAX_NAMESPACES } from '../../../worker/api/authorized-questions.ts'
import { REDACTED, REDACTED_NAMESPACE } from '../../../worker/api/redaction.ts'
import { BEGIN, job, object } from '../cli/query/build-node.ts'

const GROUP = 'landscaper.gardener.cloud'
const CANARY = 'canary'
const INSTALLATION = { group: GROUP, kind: 'Installation' }
const own = { ...object('Installation', 'own'), namespace: 'team-a' }
const item = { ...object('DeployItem', 'item'), namespace: 'team-a' }
const secret = { ...object('Secret', `${CANARY}-secret`), group: '', namespace: 'team-a' }
const theirs = { ...object('Installation', `${CANARY}-theirs`), namespace: `${CANARY}-ns` }
const ALL = [own, item, secret, theirs]
const RUNS: Readonly<Record<string, LocatedObject>> = {
  'installation/team-a/own/uid-own/j1': own,
  [`installation/${CANARY}-ns/theirs/u/j9`]: theirs,
}
const NO_ROWS = { job: undefined, hostedJobs: [], writes: [], events: [], awaited: [], wakes: [], cut: [] }
const [OWN_RUN = '', THEIR_RUN = ''] = Object.keys(RUNS)

describe('a user with permissions in one namespace', () => {
  const rights = rightsTo('get Installation team-a', 'list Installation team-a', 'get DeployItem team-a')

  it('lists the objects of that namespace, also when listing all namespaces', async () => {
    const ask = asked(rights, { listObjects: (_kind, place) => answer(place === undefined ? ALL : [own]) })
    expect(await ask.listObjects(INSTALLATION, 'team-a')).toEqual([own])
    expect(await ask.listObjects(INSTALLATION, undefined)).toEqual([own])
    expect(await ask.listObjects({ group: GROUP, kind: 'Target' }, undefined)).toEqual([])
  })

  it('lists the names of the same objects', async () => {
    const ask = asked(rights, { listNames: (_kind, place) => answer(place === undefined ? ALL : [own]) })
    expect(await ask.listNames(INSTALLATION, undefined)).toEqual([own])
    await expect(ask.listNames(INSTALLATION, theirs.namespace)).rejects.toThrow('you may not list')
  })

  it('is refused an object of another namespace, with the missing permission', async () => {
    const ask = asked(rights, { listObjects: () => answer(ALL), objectsNamed: () => answer(ALL) })
    await expect(ask.listObjects(INSTALLATION, theirs.namespace)).rejects.toThrow(
      `you may not list Installation.${GROUP} in namespace ${CANARY}-ns`,
    )
    await expect(ask.objectsNamed(theirs)).rejects.toThrow('you may not get')
    // The kind is namespaced, so no object exists outside of a namespace.
    expect(await ask.objectsNamed({ ...own, namespace: '' })).toEqual([])
  })

  it('gets no answer for the uid of an unreadable object', async () => {
    const ask = asked(rights, {
      objectOf: () => answer(theirs),
      eventsOf: () => answer([event()]),
      jobsOf: () => answer([job('theirs')]),
      wakeOf: () => answer({ due: BEGIN, cause: CANARY }),
      runOf: () => answer({ ...run(), uid: theirs.uid }),
      writesOf: () => answer([write()]),
      newestJobs: (uids) => answer(new Map(uids.map((uid) => [uid, job('x', { uid })]))),
      waitingOf: (_controllers, uids) => answer(new Map(uids.map((uid) => [uid, { due: BEGIN, ahead: 1 }]))),
      lastEventsIn: (uids) => answer(new Map(uids.map((uid) => [uid, event()]))),
      awaitedByAll: (_controllers, uids) => answer(new Map(uids.map((uid) => [uid, []]))),
    })
    const uids = [theirs.uid, secret.uid, 'nothing']
    expect(await ask.objectOf(theirs.uid)).toBeUndefined()
    expect(await ask.eventsOf(theirs.uid)).toEqual([])
    expect(await ask.jobsOf(theirs.uid)).toEqual([])
    expect(await ask.wakeOf('installation', theirs.uid)).toBeUndefined()
    expect(await ask.runOf(THEIR_RUN)).toBeUndefined()
    expect(await ask.writesOf(THEIR_RUN)).toEqual([])
    expect(await ask.writesOf(OWN_RUN, `Installation.${GROUP}/${CANARY}-ns/theirs`)).toEqual([])
    expect((await ask.newestJobs(uids)).size).toBe(0)
    expect((await ask.waitingOf(['installation'], uids)).size).toBe(0)
    expect((await ask.lastEventsIn(uids, { jobID: 'j', since: BEGIN })).size).toBe(0)
    expect((await ask.awaitedByAll(['installation'], uids)).size).toBe(0)
  })

  it('sees in the chain of owners that an unreadable part exists', async () => {
    const events = [event(), event(OWN_RUN), event(THEIR_RUN), event('installation/pruned'), event(`a/b/${own.uid}/j0`)]
    const ask = asked(rights, { eventsOf: () => answer(events) })
    const found = await ask.eventsOf(own.uid)
    expect(found.map(({ writer }) => writer)).toEqual([
      null,
      OWN_RUN,
      REDACTED_NAMESPACE,
      REDACTED,
      `a/b/${own.uid}/j0`,
    ])
    expect(JSON.stringify(found)).not.toContain(CANARY)
  })

  it('sees that the run of an own object wrote another object, without its name', async () => {
    const objects = [
      `DeployItem.${GROUP}/team-a/item`,
      `Secret/team-a/${CANARY}`,
      `Installation.${GROUP}/${CANARY}-ns/x`,
    ]
    const ask = asked(rights, { writesOf: () => answer(objects.map(write)) })
    const found = await ask.writesOf(OWN_RUN)
    expect(found.map((one) => one.object)).toEqual([
      objects[0],
      `an object ${REDACTED}`,
      `an object ${REDACTED_NAMESPACE}`,
    ])
    expect(found[0]?.error).toEqual({ message: `about ${CANARY}` })
    expect(JSON.stringify(found.slice(1))).not.toContain(CANARY)
  })

  it('sees that an own object waits for and owns unreadable objects, without their names', async () => {
    const awaited = [theirs, secret, item].map((one) => ({ ...one, since: BEGIN }))
    const children = [theirs, item].map((one) => ({ ...one, owner: own.uid }))
    const ask = asked(rights, {
      awaitedByAll: () => answer(new Map([[own.uid, awaited]])),
      childrenOf: (owners) => answer(owners.length === 0 ? [] : children),
    })
    const waits = (await ask.awaitedByAll(['installation'], [own.uid])).get(own.uid) ?? []
    expect(waits.map(({ namespace, name }) => [namespace, name])).toEqual([
      ['', REDACTED_NAMESPACE],
      ['', REDACTED],
      ['team-a', 'item'],
    ])
    // The user may get items, but not list them.
    const below = await ask.childrenOf([own], BEGIN)
    expect(below.map(({ kind, namespace, owner }) => [kind, namespace, owner])).toEqual([['Objects', '', own.uid]])
    expect(JSON.stringify(below)).not.toContain(CANARY)
    expect(await ask.childrenOf([theirs], BEGIN)).toEqual([])
  })

  it('gets the readable rows of a job, and the number of rows that were left out', async () => {
    const row = (place: LocatedObject, more: object = {}) => {
      const { group, kind, namespace, name, uid } = place
      return { api_group: group, kind, namespace, name, uid, ...more }
    }
    const cause = `Secret ${CANARY} changed`
    const rows = {
      job: { cause, workflow_id: OWN_RUN },
      hostedJobs: [row(item), row(theirs)],
      writes: [row(own), row(theirs), row(secret)],
      events: [row(own, { writer: OWN_RUN, reason: null }), row(item, { writer: THEIR_RUN }), row(theirs)],
      // An unreadable object that waits for the item.
      awaited: [row(item), row(secret), row(item, { uid: theirs.uid })],
      wakes: [row(own, { cause, writer: THEIR_RUN }), row(theirs)],
      cut: [],
    }
    const ask = asked(rights, { exportedRows: () => answer(rows), eventsAt: () => answer(rows.events) })
    const told = await ask.exportedRows(OWN_RUN, own.uid)
    const whose = (list: readonly Readonly<Record<string, unknown>>[]) => list.map(({ uid, writer }) => [uid, writer])
    expect(told.unseen).toBe(7)
    expect(told.job).toEqual({ cause: 'Secret (name not shown) changed', workflow_id: OWN_RUN })
    expect(whose(told.hostedJobs)).toEqual([[item.uid, undefined]])
    expect(whose(told.writes)).toEqual([[own.uid, undefined]])
    expect(whose(told.events)).toEqual([
      [own.uid, OWN_RUN],
      [item.uid, REDACTED],
    ])
    expect(whose(told.awaited)).toEqual([[item.uid, undefined]])
    expect(whose(told.wakes)).toEqual([[own.uid, REDACTED]])
    // eventsAt needs list, because sequence numbers can be enumerated.
    const numbered = await ask.eventsAt([1], BEGIN)
    expect(whose(numbered)).toEqual([[own.uid, OWN_RUN]])
    expect(JSON.stringify([told, numbered])).not.toContain(CANARY)
    // Neither an unreadable run nor a foreign uid.
    for (const [run, uid] of [
      [THEIR_RUN, own.uid],
      [OWN_RUN, theirs.uid],
      ['guessed', own.uid],
    ] as const)
      expect(await ask.exportedRows(run, uid)).toEqual({ ...NO_ROWS })
  })

  it('sees no names of other objects in causes, and no foreign run of a hosted job', async () => {
    const cause = `Secret ${CANARY} changed; due; ConfigMap ${CANARY}-2 created`
    const ask = asked(rights, { jobsOf: () => answer([job('own', { cause, workflowID: THEIR_RUN })]) })
    const [found] = await ask.jobsOf(own.uid)
    expect(found).toMatchObject({
      cause: 'Secret (name not shown) changed; due; ConfigMap (name not shown) created',
      workflowID: REDACTED,
    })
  })
})

describe('a user with permissions in all namespaces', () => {
  const rights: Permissions = { may: () => answer(true), hasScope: () => answer(true) }

  it('gets complete answers', async () => {
    const ask = asked(rights, { listObjects: () => answer(ALL), writesOf: () => answer([write(`Secret/x/${CANARY}`)]) })
    expect(await ask.listObjects(INSTALLATION, undefined)).toEqual(ALL)
    expect(await ask.writesOf(THEIR_RUN)).toEqual([write(`Secret/x/${CANARY}`)])
  })
})

describe('a list in all namespaces of a large cluster', () => {
  it('checks at most 500 namespaces', async () => {
    const names = Array.from({ length: MAX_NAMESPACES + 1 }, (_, index) => `ns-${index}`)
    const ask = asked(
      rightsTo('list Installation ns-1'),
      {},
      { namespacesOf: (_kind, most) => answer(names.slice(0, most)) },
    )
    await expect(ask.listObjects(INSTALLATION, undefined)).rejects.toThrow('choose a namespace with -n')
  })
})

function asked(
  rights: Permissions,
  answers: Partial<JournalQueries>,
  more: Partial<ObjectPlaces> = {},
): JournalQueries {
  const ground: ObjectPlaces = {
    placesOf: (uids) => answer(new Map(ALL.filter(({ uid }) => uids.includes(uid)).map((one) => [one.uid, one]))),
    placesOfRuns: (ids) => answer(new Map(Object.entries(RUNS).filter(([id]) => ids.includes(id)))),
    namespacesOf: () => answer(['team-a', theirs.namespace]),
    ...more,
  }
  // A question that a test does not expect fails.
  return authorizedQuestions(answers as JournalQueries, ground, rights)
}

function rightsTo(...texts: readonly string[]): Permissions {
  return {
    may: (verb, { kind }, namespace) => answer(texts.includes(`${verb} ${kind} ${namespace}`)),
    hasScope: (kind, namespace) => answer(groupKindText(kind) !== '' && namespace !== ''),
  }
}

function event(writer: string | null = null): EventRecord {
  return {
    seq: 1,
    at: BEGIN,
    uid: own.uid,
    version: 1,
    type: 'MODIFIED',
    source: 'watch',
    writer,
    manager: null,
    projection: {},
    outcome: 'wake',
    reason: `Secret ${CANARY} changed`,
  }
}

function write(of = `Secret/team-a/${CANARY}`): WriteRecord {
  return {
    pass: 1,
    step: 's',
    object: of,
    verb: 'patch',
    version: 3,
    error: { message: `about ${CANARY}` },
    at: BEGIN,
    answeredAt: BEGIN,
  }
}

function run() {
  return {
    workflowID: THEIR_RUN,
    controller: 'installation',
    namespace: 'x',
    name: CANARY,
    jobID: 'j',
    cause: 'c',
    startedAt: BEGIN,
    passes: 1,
    attempt: 0,
    runID: 'r',
  }
}

async function answer<Value>(value: Value): Promise<Value> {
  return await Promise.resolve(value)
}
