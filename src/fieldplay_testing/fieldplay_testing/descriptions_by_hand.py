"""Descriptions of chains of processing steps, for the tests of `fieldplay cdff diagram`."""

FORM_1 = """\
name: TerrainFromStereo
doc: Terrain cloud from a stereo pair
dfns: [{name: ImageFiltering}, {name: StereoReconstruction}]
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left, connections: [{dfn: ImageFiltering, port: image}]}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: all, connections: [{dfn: StereoReconstruction, port: pointcloud}]}
implementations: [{name: Plain}, {name: Other}]
"""

FORM_2 = """\
name: TerrainFromStereo
doc: Terrain cloud from a stereo pair & more <all of it>
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left}
  - {name: rightImage, type: asn1SccFrame, doc: right}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: cloud}
operations:
  - {name: getCloud, doc: the last cloud, inputs: [{name: maxPoints, type: int}]}
implementations:
  - name: Plain
    dfns:
      - dfn_id: undistort
        name: ImageFiltering
        implementation: ImageUndistortion
        activation: {type: input_triggered, value: image}
      - dfn_id: stereo
        name: StereoReconstruction
        implementation: DisparityMapping
        activation: {type: frequency, value: 2}
      - {dfn_id: assemble, name: PointCloudAssembly}
    input_connections:
      - {dfpc_input: leftImage, dfn_id: undistort, port: image}
      - {dfpc_input: rightImage, dfn_id: stereo, port: right}
    internal_connections:
      - {from: {dfn_id: undistort, port: image}, to: {dfn_id: stereo, port: left}}
      - {from: {dfn_id: stereo, port: pointcloud}, to: {dfn_id: assemble, port: firstPointCloud}}
      - {from: {dfn_id: assemble, port: assembledCloud}, to: {dfn_id: assemble, port: secondPointCloud}}
    output_connections:
      - {dfpc_output: pointCloud, dfn_id: assemble, port: assembledCloud}
"""

DFN = """\
name: EdgeFinder
doc: finds edges in a picture
input_ports:
  - {name: image, type: asn1SccFrame, doc: picture}
output_ports:
  - {name: edges, type: asn1SccFrame, doc: picture of edges}
"""
