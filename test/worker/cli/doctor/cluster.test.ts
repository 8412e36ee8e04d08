// The findings of `pawl doctor` about the API server, with a fake client.

import { describe, expect, it } from 'vitest'
import type { KubeClient } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/kube-error.ts'
import type { GroupKind } from '../../../../workflows/kit/index.ts'
import { clusterFindings } from '../../../../worker/cli/doctor/cluster.ts'

const CHAOS = 'chaos.datadoghq.com'
const DISRUPTION = { group: CHAOS, kind: 'Disruption' }
const INSTALLATION = { group: 'landscaper.gardener.cloud', kind: 'Installation' }

describe('the finding about installed kinds', () => {
  it.each<readonly [string, readonly GroupKind[] | undefined, readonly string[], string, RegExp]>([
    ['checks only the kinds that a bridge follows', [DISRUPTION], [CHAOS], 'ok', /^Disruption are installed$/],
    [
      'names followed kinds without a CRD',
      [DISRUPTION, INSTALLATION],
      [CHAOS],
      'bad',
      /^Installation are not installed; /,
    ],
    [
      'checks the kinds of installed groups without a journal',
      undefined,
      [CHAOS],
      'ok',
      /^Disruption, DisruptionCron, /,
    ],
    ['is bad without a CRD and without a journal', undefined, [], 'bad', /^no CRD of Pawl is installed; /],
  ])('%s', async (_, ...[followed, groups, verdict, text]) => {
    const findings = await clusterFindings(server(groups), 'team-a', followed)
    expect(findings.find(({ part }) => part === 'kinds')).toEqual({
      part: 'kinds',
      verdict,
      text: expect.stringMatching(text) as string,
    })
    expect(findings.find(({ part }) => part === 'rights')?.text).not.toContain('installations')
  })
})

/** A server that has only these API groups, for a user with all rights. */
function server(groups: readonly string[]): KubeClient {
  const answers: Readonly<Record<string, unknown>> = {
    '/version': { gitVersion: 'v1' },
    '/apis': { groups: groups.map((name) => ({ name })) },
  }
  const request = (_method: string, path: string): Promise<unknown> => {
    const answer = answers[path]
    if (answer !== undefined) return Promise.resolve(answer)
    if (path.includes('selfsubject')) return Promise.resolve({ status: { allowed: true, userInfo: { username: 'a' } } })
    return groups.some((group) => path.includes(`/${group}/`))
      ? Promise.resolve({ items: [] })
      : Promise.reject(new KubeError('none', { status: 404, reason: 'NotFound' }))
  }
  const stream = () => Promise.resolve({ headers: {}, body: [] })
  const connection = { server: 'https://x', isInsecure: false }
  return { connection, request, stream, close: () => Promise.resolve() } as unknown as KubeClient
}
