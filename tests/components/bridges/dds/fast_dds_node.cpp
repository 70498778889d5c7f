// A node on Fast DDS, as rmw_fastrtps makes them: topics, types and encoding of ROS 2, no type objects.
//   fast_dds_node DOMAIN SECONDS
// It reads rt/joint_states and asks for the first position plus 0.2 rad at rt/joint_commands; prints
// one line when both have happened: states, their joints, the position that was reached.

#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

struct JointState {
  int32_t sec = 0;
  uint32_t nanosec = 0;
  std::string frame;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};

class JointStateType : public TopicDataType {
 public:
  JointStateType() {
    setName("sensor_msgs::msg::dds_::JointState_");
    m_typeSize = 16384;
    m_isGetKeyDefined = false;
    auto_fill_type_information(false);
    auto_fill_type_object(false);
  }
  bool serialize(void* data, SerializedPayload_t* payload) override {
    auto& m = *static_cast<JointState*>(data);
    FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
    Cdr out(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    out.serialize_encapsulation();
    out << m.sec << m.nanosec << m.frame << m.name << m.position << m.velocity << m.effort;
    payload->encapsulation = CDR_LE;
    payload->length = static_cast<uint32_t>(out.getSerializedDataLength());
    return true;
  }
  bool deserialize(SerializedPayload_t* payload, void* data) override {
    auto& m = *static_cast<JointState*>(data);
    FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
    Cdr in(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
    in.read_encapsulation();
    in >> m.sec >> m.nanosec >> m.frame >> m.name >> m.position >> m.velocity >> m.effort;
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void*) override {
    return [this] { return m_typeSize; };
  }
  bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
  void* createData() override { return new JointState; }
  void deleteData(void* data) override { delete static_cast<JointState*>(data); }
};

int main(int, char** argument) {
  const int domain = std::atoi(argument[1]);
  const double seconds = std::atof(argument[2]);
  auto* node = DomainParticipantFactory::get_instance()->create_participant(domain, PARTICIPANT_QOS_DEFAULT);
  TypeSupport type(new JointStateType);
  type.register_type(node);
  auto* states = node->create_topic("rt/joint_states", type.get_type_name(), TOPIC_QOS_DEFAULT);
  auto* commands = node->create_topic("rt/joint_commands", type.get_type_name(), TOPIC_QOS_DEFAULT);
  DataReaderQos reading = DATAREADER_QOS_DEFAULT;  // ROS 2's default: reliable, volatile, the last ten
  reading.reliability().kind = RELIABLE_RELIABILITY_QOS;
  reading.history().depth = 10;
  DataWriterQos writing = DATAWRITER_QOS_DEFAULT;
  writing.reliability().kind = RELIABLE_RELIABILITY_QOS;
  writing.history().depth = 10;
  auto* reader = node->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(states, reading);
  auto* writer = node->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(commands, writing);

  JointState seen, wanted;
  SampleInfo about;
  long count = 0;
  double first = 0.0, last = -1.0;
  bool in_order = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    reader->wait_for_unread_message({0, 100000000});
    while (reader->take_next_sample(&seen, &about) == ReturnCode_t::RETCODE_OK) {
      if (!about.valid_data) continue;
      if (!count++) first = seen.position.at(0);
      const double now = seen.sec + 1e-9 * seen.nanosec;
      in_order = in_order && now > last;
      last = now;
    }
    if (!count) continue;
    wanted.name = {seen.name.at(0)};
    wanted.position = {first + 0.2};
    writer->write(&wanted);
    if (count > 100 && std::abs(seen.position[0] - first - 0.2) < 0.05) {
      std::printf("%ld states %s of %zu joints, %s moved by %.3f\n", count,
                  in_order ? "in order" : "out of order", seen.name.size(), seen.name[0].c_str(),
                  seen.position[0] - first);
      std::fflush(stdout);
      std::_Exit(0);
    }
  }
  std::printf("%ld states, moved by %.3f\n", count, count ? seen.position[0] - first : 0.0);
  return 1;
}
