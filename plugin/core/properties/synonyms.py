"""What other tools call a property, for the hint when a name is unknown."""

import re
from collections.abc import Collection

from mjrig.core.names import suggestion

_WORDS = {
    "kp": "p, p_gain, kp_gain, proportional, proportional_gain, stiffness, gain, kps",
    "kv": "d, kd, d_gain, derivative, derivative_gain, damping, kds, damping_gain",
    "ki": "i, i_gain, integral, integral_gain",
    "integral_max": "integral_limit, windup, anti_windup, i_max, i_clamp, integral_clamp",
    "torque_limit": "effort_limit, max_torque, torque_max, tau_max, tau_limit, max_effort, "
    "force_limit, effort_limits, torque_limits, effort_limit_sim, saturation",
    "max_effort": "effort_limit, torque_limit, max_torque, limit",
    "velocity_limit": "max_velocity, speed_limit, no_load_speed, velocity_limit_sim",
    "saturation_effort": "stall_torque, peak_torque, stall_effort",
    "forcerange": "force_range, effort_limit, torque_limit, max_force",
    "ctrlrange": "ctrl_range, control_range",
    "gear": "gear_ratio, ratio, reduction",
    "delay": "latency, lag, delays",
    "decimation": "substeps, rate, frequency, control_decimation, n_substeps",
    "enabled": "enable, active, disabled",
    "actuators": "actuator, joints, joint, motors, joint_names, targets",
    "clamps": "clamp, limits, saturations",
    "model": "file, path, filename, xml, urdf, mjcf, robot, asset, usd",
    "components": "controllers, controller, component, control",
    "actors": "robots, robot, models, entities, objects, bodies, articulations",
    "sim": "simulation, options, option, physics, simulator",
    "vars": "variables, params, parameters, constants",
    "include": "includes, import, imports",
    "randomise": "randomize, randomization, randomisation, domain_randomization",
    "collision_groups": "collisions, collision, collision_group, exclude, excludes",
    "position": "pos, xyz, translation, location, origin",
    "pose": "position, pos, xyz, translation, transform, rotation, orientation, init_pos, quat",
    "euler_deg": "rpy, euler, rotation, orientation, angles, roll_pitch_yaw",
    "quaternion": "quat, rot, orientation_quat, wxyz",
    "joints": "qpos, joint_pos, joint_positions, initial_joints, default_joint_angles, "
    "default_joint_positions, init_state, initial_positions",
    "joint_velocities": "qvel, joint_vel, initial_velocities",
    "keyframe": "key, home, initial_keyframe, init_key",
    "keyframes": "keys, poses",
    "base": "fixed_base, fix_base, floating_base, fix_base_link, free, root",
    "attach": "parent, attach_to, mount, weld, attached_to",
    "replicate": "copies, copy, grid, instances, repeat",
    "prop": "object, shape, props, primitive",
    "free_bodies": "free_body, objects_state",
    "mocap_bodies": "mocap, mocap_body, mocaps",
    "timestep": "dt, time_step, step, physics_dt, sim_dt",
    "bodies": "inertials, inertial, masses, links, body, body_mass",
    "motors": "motor, servo, servos, drive, drives, motor_model",
    "mass": "masses, weight, kg",
    "centre": "center, com, cog, ipos, center_of_mass, centre_of_mass",
    "inertia": "fullinertia, diaginertia, inertias, moments",
    "frictionloss": "friction, dry_friction, coulomb_friction",
    "armature": "rotor_inertia, reflected_inertia, rotor",
    "damping": "viscous_friction, viscosity, kv, kd",
    "stiffness": "spring, kp",
    "rgba": "color, colour",
    "type": "class, kind, class_name",
    "joint": "joints, target, joint_name",
    "to": "parent, target, on",
}
_KNOWN: dict[str, list[str]] = {}
for _name, _others in _WORDS.items():
    for _other in _others.split(", "):
        _KNOWN.setdefault(_other, []).append(_name)


def meant(name: str, properties: Collection[str]) -> str | None:
    """The property that other tools call by a name, among those there are; None: none."""
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower().replace("-", "_")
    return next((known for known in _KNOWN.get(word, ()) if known in properties), None)


def near_names(name: str, properties: Collection[str], *, label: str = "available") -> str:
    """As `suggestion`, for the name of a property or gain: what other tools call it comes first."""
    known = meant(name, properties)
    return f"did you mean {known!r}?" if known else suggestion(name, properties, label=label)
