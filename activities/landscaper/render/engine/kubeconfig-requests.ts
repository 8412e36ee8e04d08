// Kubeconfigs that a template requests while it is rendered. Source: spec/landscaper.md 3.7 `getServiceAccountKubeconfig` and the like.
//
//   K1. An issued kubeconfig is a secret. It becomes part of the next render request only; error messages contain requests, not issued kubeconfigs.

/** As deploy/templates/kubeconfigs.go writes them. The names come from the template and may be any text. */
export type KubeconfigSpec =
  | ({ readonly kind: 'serviceAccount' | 'shoot' } & TokenSpec)
  | {
      readonly kind: 'oidc'
      readonly target: string
      readonly issuerURL: string
      readonly clientID: string
    }

export interface TokenSpec {
  /** The name of the Target of the cluster. */
  readonly target: string
  readonly name: string
  readonly namespace: string
  readonly expirationSeconds: number
}

export interface KubeconfigRequest {
  /** Identifies the request with all its arguments. */
  readonly key: string
  readonly ask: KubeconfigSpec
}

export interface IssuedKubeconfig {
  /** The kubeconfig in base64. */
  readonly kubeconfig: string
  /** RFC 3339; empty if it does not expire. */
  readonly expiresAt: string
}

export type IssuedKubeconfigs = Readonly<Record<string, IssuedKubeconfig>>

/** Issues kubeconfigs for one namespace. */
export interface KubeconfigSource {
  /** @throws BlueprintError for mistakes of the author; other errors may be retried. */
  issue(request: KubeconfigRequest): Promise<IssuedKubeconfig>
}
