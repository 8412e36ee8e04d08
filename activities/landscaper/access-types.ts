// The types of access to a component's resources that Pawl reads, without their versions.

/** The content is next to the component. */
export const LOCAL_ACCESS: readonly string[] = ['localBlob', 'localFilesystemBlob', 'localOciBlob']

/** The field with the reference to an artefact or repository, by type. */
export const OCI_ACCESS: Readonly<Record<string, string>> = {
  ociArtifact: 'imageReference',
  ociRegistry: 'imageReference',
  ociImage: 'imageReference',
  ociBlob: 'ref',
}
