// Kubeconfigs that a template asks for while it is rendered, as its engine says what it wants: which of which cluster. Who has one is not said here.
// Source: spec/landscaper.md 3.7 `getServiceAccountKubeconfig` and the like.
//
//   K1. What is issued is a secret. It goes into the request of the next rendering and nowhere else; errors are made of asks, not of answers.

import { BlueprintError } from './blueprint-error.ts'

/** As deploy/templates/kubeconfigs.go makes them; what they name is the template's, and may be anything. */
export type KubeconfigAsk =
  | ({ readonly kind: 'serviceAccount' | 'shoot' } & TokenAsk)
  | {
      readonly kind: 'oidc'
      readonly target: string
      readonly issuerURL: string
      readonly clientID: string
    }

export interface TokenAsk {
  /** The name of the Target that leads to the cluster. */
  readonly target: string
  readonly name: string
  readonly namespace: string
  readonly expirationSeconds: number
}

export interface WantedKubeconfig {
  /** Says the whole ask. */
  readonly key: string
  readonly ask: KubeconfigAsk
}

export interface IssuedKubeconfig {
  /** In base64. */
  readonly kubeconfig: string
  /** RFC 3339; empty: it does not expire. */
  readonly expiresAt: string
}

export type IssuedKubeconfigs = Readonly<Record<string, IssuedKubeconfig>>

/** Whoever issues them, for one namespace. */
export interface KubeconfigSource {
  /** @throws BlueprintError for what an author can mend; else what a later try may not meet again. */
  issue(wanted: WantedKubeconfig): Promise<IssuedKubeconfig>
}

/** Of one template. Each rendering asks for one more at least, and each is a request to a server. */
const MOST_KUBECONFIGS = 20

/** Those that are known, and those that are wanted. @param template its name. @throws as the source; BlueprintError for too many. */
export async function issueWanted(
  source: KubeconfigSource,
  { known, wanted, template }: Issue,
): Promise<IssuedKubeconfigs> {
  const unknown = new Map(wanted.filter(({ key }) => !Object.hasOwn(known, key)).map((one) => [one.key, one]))
  if (Object.keys(known).length + unknown.size > MOST_KUBECONFIGS) {
    const found = `found more than ${MOST_KUBECONFIGS} kubeconfigs that it asks for, expected fewer`
    throw new BlueprintError('TemplatingFailed', `template "${template}": ${found}`)
  }
  const issued: (readonly [string, IssuedKubeconfig])[] = []
  for (const one of unknown.values()) issued.push([one.key, await source.issue(one)])
  return { ...known, ...Object.fromEntries(issued) }
}

export interface Issue {
  readonly known: IssuedKubeconfigs
  readonly wanted: readonly WantedKubeconfig[]
  readonly template: string
}
