import { describe, expect, it } from 'vitest'
import type { OpenApi } from '../../../../worker/cli/api-place.ts'
import { apiFindings } from '../../../../worker/cli/doctor/journal.ts'
import { PAWL_VERSION } from '../../../../worker/server/version.ts'

const PLACE = { namespace: 'pawl', name: 'pawl-api' }
const KINDS = [{ group: '', kind: 'ConfigMap' }]

describe('the findings about pawl api', () => {
  it('are ok if it answers with the same version, the same cluster and a journal', async () => {
    expect(await verdicts({})).toEqual({
      api: ['ok', `pawl api by Service pawl/pawl-api answers: Pawl ${PAWL_VERSION}`],
      clocks: ['ok', expect.stringContaining('of pawl api')],
      identity: ['ok', 'pawl api knows you as "alice", in groups team-a, system:authenticated'],
      cluster: ['ok', 'pawl api answers for cluster "local"'],
      journal: ['ok', 'the journal answers; 1 kind is followed'],
    })
  })

  it('warn about another version, another cluster, or a clock that differs', async () => {
    const at = new Date(Date.now() - 3_600_000).toISOString()
    expect(await verdicts({ version: '9.9.9', cluster: 'prod', at, groups: [] })).toMatchObject({
      api: [
        'warn',
        expect.stringContaining(`answers: Pawl 9.9.9, and this command is ${PAWL_VERSION}; use the same version`),
      ],
      clocks: ['warn', expect.stringContaining('behind the clock of this machine')],
      identity: ['ok', 'pawl api knows you as "alice"'],
      cluster: ['warn', 'pawl api answers for cluster "prod", but --cluster is "local"'],
    })
  })

  it('are bad if the journal has no kinds, or if it does not answer', async () => {
    expect(await verdicts({}, [])).toMatchObject({ journal: ['bad', expect.stringContaining('start a bridge')] })
    expect(await verdicts({}, new Error('it is away'))).toMatchObject({
      journal: ['bad', 'it is away; check the address of pawl api and your token'],
    })
    expect(await verdicts({ at: 'no time' })).toEqual({
      api: [
        'bad',
        'the answer to about has no time where one is expected; check the address of pawl api and your token',
      ],
    })
  })
})

/**
 * The verdicts by part. @param about the answer to about. @param kinds the watched kinds, or the error of that
 * question.
 */
async function verdicts(about: object, kinds: readonly object[] | Error = KINDS) {
  const itself = {
    version: PAWL_VERSION,
    cluster: 'local',
    username: 'alice',
    groups: ['team-a', 'system:authenticated'],
  }
  const api: OpenApi = {
    ask: async () => await (kinds instanceof Error ? Promise.reject(kinds) : Promise.resolve({ answer: kinds })),
    about: async () => await Promise.resolve({ answer: { ...itself, at: new Date().toISOString(), ...about } }),
    close: async () => await Promise.resolve(),
  }
  const found = await apiFindings(PLACE, api, 'local')
  return Object.fromEntries(found.map(({ part, verdict, text }) => [part, [verdict, text]]))
}
