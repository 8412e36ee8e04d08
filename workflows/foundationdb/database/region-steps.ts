// Changes of regions in stages: the database accepts only one kind of change at a time. Source: spec/foundationdb.md 4.7;
// recording 19.
//
//   R1. Repeated steps end at the final configuration.
//   R2. No step leaves the database without a region of non-negative priority.

import type { DataCenter, Region } from '../cluster/schema/database.ts'
import { isRegionsEqual, type NormalizedConfiguration, sortedRegions } from './configure-string.ts'

/** The configuration of the next `configure`; the final one when no stage is needed. */
export function nextConfiguration(
  current: NormalizedConfiguration,
  final: NormalizedConfiguration,
): NormalizedConfiguration {
  if (isRegionsEqual(current.regions, final.regions)) return final
  const base = { ...current, regions: withFinalSatellites(current.regions, final.regions) }
  const usable =
    base.usable_regions === final.usable_regions ? final : { ...base, usable_regions: final.usable_regions }
  return regionAdded(base, final) ?? regionDropped(base, final) ?? prioritiesChanged(base, final) ?? usable
}

/** Stage 1, folded into the step: satellites of existing regions have their final values. */
function withFinalSatellites(current: readonly Region[], final: readonly Region[]): readonly Region[] {
  const regions = current.map((region) => {
    const wanted = regionOf(final, mainID(region))
    if (wanted === undefined) return region
    const satellites = (wanted.datacenters ?? []).filter(isSatellite)
    return { ...wanted, datacenters: [...(region.datacenters ?? []).filter((one) => !isSatellite(one)), ...satellites] }
  })
  return sortedRegions(regions)
}

/** Stage 2. A new region has priority -1, except for the first one. */
function regionAdded(base: NormalizedConfiguration, { regions: final }: NormalizedConfiguration) {
  const missing = final.filter((region) => regionOf(base.regions, mainID(region)) === undefined)
  const added = missing.slice(0, Math.max(0, 2 - base.regions.length))
  if (added.length === 0) return undefined
  const regions = added.map((region, at) => withPriority(region, base.regions.length === 0 && at === 0 ? 1 : -1))
  return { ...base, regions: sortedRegions([...base.regions, ...regions]) }
}

/** Stage 3. The data of a region must not be needed when the region is removed. */
function regionDropped(base: NormalizedConfiguration, { regions: final }: NormalizedConfiguration) {
  const dropped = base.regions.findLast((region) => regionOf(final, mainID(region)) === undefined)
  // The last region is removed with the final configuration.
  if (dropped === undefined || base.regions.length === 1) return undefined
  const others = base.regions.filter((region) => region !== dropped)
  if (priorityOf(dropped) < 0) {
    const usable_regions = Math.max(1, base.regions.length - 1)
    return base.usable_regions === usable_regions ? { ...base, regions: others } : { ...base, usable_regions }
  }
  // The other regions need the data before they take over.
  const isPrimary = base.regions[0] === dropped
  if (isPrimary && base.usable_regions < 2 && others.length > 0) return { ...base, usable_regions: base.regions.length }
  const hasActive = others.some((region) => priorityOf(region) >= 0)
  const active = others.map((region, at) => (hasActive || at > 0 ? region : withPriority(region, 1)))
  return { ...base, regions: sortedRegions([...active, withPriority(dropped, -1)]) }
}

/** Stage 4. All regions need the data before priorities change. */
function prioritiesChanged(base: NormalizedConfiguration, { regions: final }: NormalizedConfiguration) {
  const regions = base.regions.map((region) => {
    const wanted = regionOf(final, mainID(region))
    return wanted === undefined ? region : withPriority(region, priorityOf(wanted))
  })
  if (isRegionsEqual(sortedRegions(regions), base.regions)) return undefined
  if (base.usable_regions < base.regions.length) return { ...base, usable_regions: base.regions.length }
  return { ...base, regions: sortedRegions(regions) }
}

function regionOf(regions: readonly Region[], id: string): Region | undefined {
  return regions.find((region) => mainID(region) === id)
}

function mainOf({ datacenters = [] }: Region): DataCenter {
  return datacenters.find((one) => !isSatellite(one)) ?? {}
}

function mainID(region: Region): string {
  return mainOf(region).id ?? ''
}

function priorityOf(region: Region): number {
  return mainOf(region).priority ?? 0
}

function isSatellite({ satellite = 0 }: DataCenter): boolean {
  return satellite !== 0
}

function withPriority(region: Region, priority: number): Region {
  const datacenters = (region.datacenters ?? []).map((one) => (isSatellite(one) ? one : { ...one, priority }))
  return { ...region, datacenters }
}
