import { describe, expect, it } from 'vitest'
import { type QueryName, queriesOf } from '../../../activities/journal/read/queries.ts'
import { inputOf } from '../../../worker/api/input.ts'
import { answerIn, answerText, isQuestion, WIRE_FORMATS } from '../../../worker/api/wire.ts'
import { apiQuestions } from '../../../worker/cli/query/open-journal.ts'
import { BEGIN, job, object } from '../cli/query/build-node.ts'

const over = (name: QueryName, answer: unknown) => answerIn(name, JSON.parse(answerText(answer)))

describe('an answer', () => {
  it('survives the conversion to JSON and back', () => {
    const times = { projection: { spec: { at: '2026-01-01T00:00:00Z' } } }
    const one = { ...object('Installation', 'shop', times.projection), updatedAt: BEGIN }
    expect(over('listObjects', [one])).toEqual([one])
    expect(over('objectOf', undefined)).toBeUndefined()
    expect(over('objectOf', one)).toEqual(one)
    const jobs = new Map([['u', job('shop', { finishedAt: null })]])
    expect(over('newestJobs', jobs)).toEqual(jobs)
    const awaited = new Map([['u', [{ group: '', kind: 'Secret', namespace: 'a', name: 'b', since: BEGIN }]]])
    expect(over('awaitedByAll', awaited)).toEqual(awaited)
    expect(over('awaitedByAll', new Map())).toEqual(new Map())
  })

  it.each([null, [], { answer: 3 }, { answer: [3] }, {}])('is refused if it is %j', (body) => {
    expect(() => answerIn('listObjects', body)).toThrow('the answer to listObjects has no')
  })
})

describe('a question', () => {
  it('survives the conversion to JSON and back with its arguments', async () => {
    const heard: unknown[] = []
    const ask = apiQuestions(async (name, input) => {
      const args: readonly unknown[] = WIRE_FORMATS[name].args(inputOf(JSON.parse(JSON.stringify(input))))
      heard.push([name, ...args])
      return await Promise.resolve({ answer: WIRE_FORMATS[name].answer[0].endsWith('by uid') ? {} : [] })
    })
    const kind = { group: 'g', kind: 'K' }
    await ask.listObjects(kind, undefined)
    await ask.objectsNamed({ ...kind, namespace: 'a', name: 'n' })
    await ask.newestJobs(['u'], { from: BEGIN, to: null })
    await ask.jobsOf('u', { jobID: undefined, workflowID: 'w' })
    await ask.eventsOf('u')
    await ask.lastEventsIn(['u'], { jobID: 'j', since: BEGIN })
    expect(heard).toEqual([
      ['listObjects', kind, undefined],
      ['objectsNamed', { ...kind, namespace: 'a', name: 'n' }],
      ['newestJobs', ['u'], { from: BEGIN }],
      ['jobsOf', 'u', { jobID: undefined, workflowID: 'w' }],
      ['eventsOf', 'u', undefined],
      ['lastEventsIn', ['u'], { jobID: 'j', since: BEGIN }],
    ])
  })

  it('exists in the wire format exactly if the journal has it', () => {
    const names = Object.keys(queriesOf({ db: undefined as never, cluster: 'local' }))
    expect(Object.keys(WIRE_FORMATS).sort()).toEqual(names.sort())
    expect(isQuestion('constructor')).toBe(false)
  })

  it.each([
    ['eventsOf', { uid: 'u', most: 1e9 }, 'most is the number 1000000000; expected a whole number from 1 to 500'],
    ['eventsOf', { uid: 'u', most: '1' }, 'most is a text of 1 characters; expected a whole number'],
    ['eventsOf', { uid: ['u'] }, 'uid is a list of 1; expected a string'],
    ['eventsOf', {}, 'uid is missing; expected a string'],
    ['eventsOf', { uid: 'a\0b' }, 'uid is a text of 3 characters; expected a string'],
    ['newestJobs', { uids: Array.from({ length: 10_001 }, String) }, 'uids is a list of 10001; expected a list of at'],
    ['newestJobs', { uids: [{}] }, 'uids is a list of 1; expected a list'],
    ['childrenOf', { owners: [], since: 'yesterday' }, 'since is a text of 9 characters; expected a time such as'],
    ['listObjects', [], 'the body is a list of 0; expected a JSON object'],
  ] as const)('%s with input %j is refused', (name, input, message) => {
    expect(() => WIRE_FORMATS[name].args(inputOf(input))).toThrow(message)
  })
})
