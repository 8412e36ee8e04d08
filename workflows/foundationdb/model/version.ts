// Versions of FoundationDB: order, protocol compatibility and upgrade rules. Source: spec/foundationdb.md 2.4, 4.2, 8.3.

export interface FdbVersion {
  readonly major: number
  readonly minor: number
  readonly patch: number
  /** The number of the release candidate; undefined for a release. */
  readonly candidate: number | undefined
}

const FORM = /^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-rc(\d{1,3}))?$/

/** The oldest version that Pawl runs. Source: spec/foundationdb.md 1.1. */
export const OLDEST_VERSION = '7.1.0'

/** Undefined for a text of another form. */
export function parseVersion(text: string): FdbVersion | undefined {
  const [, major, minor, patch, candidate] = FORM.exec(text) ?? []
  if (major === undefined) return undefined
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    candidate: candidate === undefined ? undefined : Number(candidate),
  }
}

/** Negative if the first version is older; a release candidate is older than its release. */
export function compareVersions(one: string, other: string): number {
  const [first, second] = [orderOf(one), orderOf(other)]
  return first.map((part, at) => part - (second[at] ?? 0)).find((difference) => difference !== 0) ?? 0
}

export function isAtLeast(version: string, least: string): boolean {
  return compareVersions(version, least) >= 0
}

/** `7.1`: versions with the same text have one protocol, and one folder of programs. */
export function compactVersion(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}

/** Processes of both versions can form one database. */
export function isProtocolCompatible(one: string, other: string): boolean {
  return compactVersion(one) === compactVersion(other)
}

/**
 * Why a database must not change to a version; undefined if it may.
 *
 * @param allowPatchDowngrade `automationOptions.allowPatchDowngrade`.
 */
export function downgradeProblem(running: string, wanted: string, allowPatchDowngrade: boolean): string | undefined {
  if (isAtLeast(wanted, running)) return undefined
  if (allowPatchDowngrade && isProtocolCompatible(running, wanted)) return undefined
  return `spec.version: found ${wanted}; expected at least the running version ${running}, because a downgrade can lose data`
}

/** From these versions on, `exclude` accepts localities reliably. */
const LOCALITY_EXCLUSIONS: Readonly<Record<string, string>> = { '7.1': '7.1.42' }

/** Whether processes of the version are excluded by locality by default. */
export function supportsLocalityExclusion(version: string): boolean {
  return isAtLeast(version, LOCALITY_EXCLUSIONS[compactVersion(version)] ?? '7.3.26')
}

function orderOf(version: string): readonly number[] {
  const parsed = parseVersion(version)
  if (parsed === undefined) throw new Error(`version: found "${version}"; expected a version such as 7.1.26`)
  const { major, minor, patch, candidate = Number.MAX_SAFE_INTEGER } = parsed
  return [major, minor, patch, candidate]
}
