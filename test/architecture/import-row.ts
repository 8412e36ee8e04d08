// A row of the import table, and the paths that rows of several files permit.

export interface Row {
  /** The rule. It is the title of the row's test. */
  readonly sentence: string
  readonly of: RegExp
  /**
   * Paths that may be imported. `$1` and `$2` are the groups of `of`; `$hosted` are the folders of the kinds that the
   * kind `$2` hosts.
   */
  readonly may: readonly string[]
  /** Further paths, from which types may be imported. */
  readonly mayType?: readonly string[]
  /** Further paths, which may be imported by `import()` calls. Bundles do not contain modules that are imported so. */
  readonly mayCall?: readonly string[]
  /** Packages and Node.js built-ins from which values may be imported. Types may be imported from any package. */
  readonly packages: RegExp
}

export const NONE = /^$/
export const ANY = /./
export const KIT = '^workflows/kit/index\\.ts$'
export const DEPS = '^activities/deps\\.ts$'
/** Folders of a wing that contain no kind: pure functions for several kinds and for activities. */
const SHARED_FOLDERS = '(?:model|database|resources)'
/** Pure modules that the whole wing may import: names, kinds, parts of their schemas, rules, and shared folders. */
export const WING = `^workflows/$1/(?:[^/]+\\.ts|${SHARED_FOLDERS}/[^/]+\\.ts|[^/]+/(?:kind|(?:schema|rules)/[^/]+)\\.ts|deploy-item/(?:deployers\\.gen|handled-types)\\.ts)$`
