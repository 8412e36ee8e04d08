import { describe, expect, it } from 'vitest'

import { KubeError } from '../../../activities/kube/kube-error.ts'
import { missingInCluster, missingInJournal, requireNamespace } from '../../../worker/cli/missing-object.ts'

const INSTALLATION = { group: 'landscaper.gardener.cloud', kind: 'Installation' }
const NAMESPACE = { group: '', kind: 'Namespace' }
const OBJECTS = [
  { namespace: 'team-a', name: 'shop' },
  { namespace: 'team-b', name: 'mail' },
]

/** A journal that follows these kinds, with three namespaces. */
const journalIn = (namespace: string, kinds = [INSTALLATION, NAMESPACE]) => ({
  namespace,
  cluster: 'local',
  kinds: kinds.map((kind) => ({ ...kind, isFollowed: true })),
  listNames: async ({ kind }: { readonly kind: string }) =>
    await Promise.resolve(
      kind === 'Namespace' ? ['team-a', 'team-b', 'team-c'].map((name) => ({ namespace: '', name })) : OBJECTS,
    ),
})

/** An API server with these objects; it refuses the paths that match. */
const serverWith = (refused?: RegExp, status = 403) => ({
  request: async <Answer>(_method: string, path: string): Promise<Answer> => {
    if (refused?.test(path) === true) throw new KubeError(path, { status, reason: 'Refused' })
    const names = path.endsWith('/namespaces') ? [{ name: 'team-a' }, { name: 'team-b' }, { name: 'team-c' }] : OBJECTS
    return await Promise.resolve({ items: names.map((metadata) => ({ metadata })) } as Answer)
  },
})
const KIND = { kind: 'Installation', api: { apiVersion: 'x/v1', plural: 'installations' } }

describe('the error for an object that is missing', () => {
  it.each([
    ['team-a', 'shp', 'did you mean "shop"?'],
    ['team-a', 'mail', 'installation "mail" exists in namespace "team-b": add -n team-b'],
    ['team-c', 'shop', 'installation "shop" exists in namespace "team-a": add -n team-a'],
  ])('in namespace %s, called %s, suggests the similar name or the other namespace', async (namespace, name, hint) => {
    expect(await missingInJournal(journalIn(namespace), INSTALLATION, name)).toBe(
      `installation "${namespace}/${name}" is not in the journal of cluster "local"; ${hint}`,
    )
    expect(await missingInCluster(serverWith(), KIND, { namespace, name })).toBe(
      `installation "${namespace}/${name}" is not in the cluster; ${hint}`,
    )
  })

  it('names the command that lists the objects if no object is similar', async () => {
    expect(await missingInJournal(journalIn('team-a'), INSTALLATION, 'other')).toMatch(
      /; see pawl get installation -A$/,
    )
    expect(await missingInCluster(serverWith(), KIND, { namespace: 'team-a', name: 'x' })).toMatch(/; see -n and --con/)
  })

  it('says that the namespace does not exist, unless the namespaces are unknown', async () => {
    const message = 'namespace "tema-a" does not exist; did you mean "team-a"?'
    expect(await missingInJournal(journalIn('tema-a'), INSTALLATION, 'other')).toBe(message)
    await expect(requireNamespace(journalIn('tema-a'), 'tema-a')).rejects.toThrow(message)
    await requireNamespace(journalIn('tema-a', [INSTALLATION]), 'tema-a')
    await requireNamespace(journalIn('team-c'), 'team-c')
    expect(await missingInCluster(serverWith(), KIND, { namespace: 'tema-a', name: 'x' })).toBe(message)
    expect(await missingInCluster(serverWith(/namespaces$/), KIND, { namespace: 'tema-a', name: 'x' })).toMatch(
      /^installation "tema-a\/x" is not in the cluster;/,
    )
  })

  it('says that the kind does not exist if its CRD is not installed; other errors are thrown', async () => {
    const missing = { namespace: 'team-a', name: 'x' }
    expect(await missingInCluster(serverWith(/installations/, 404), KIND, missing)).toMatch(/^kind "Installation" does/)
    await expect(missingInCluster(serverWith(/installations/, 500), KIND, missing)).rejects.toThrow('installations')
  })
})
